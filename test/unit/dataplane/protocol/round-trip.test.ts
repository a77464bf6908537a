/** A conversion to the other protocol and back keeps conversations, settings and answers. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { test } from 'vitest';
import { converterFor } from '../../../../dataplane/protocol/providers.ts';
import type { Protocol } from './replay.ts';

type Fields = Record<string, unknown>;

const other = (dialect: Protocol): Protocol => (dialect === 'OpenAI' ? 'Anthropic' : 'OpenAI');

/** From one protocol to the other. */
function convert(client: Protocol, request: Fields): Fields {
  const body = Buffer.from(JSON.stringify(request));
  const sent = converterFor(client, other(client)).request(body, JSON.parse(body.toString()), {
    upstreamModel: 'm',
    maxOutputTokens: undefined,
    outputLimitField: 'max_tokens',
    capabilities: { promptCaching: false },
  });
  return JSON.parse(Buffer.from(sent.body).toString('utf8')) as Fields;
}

const thereAndBack = (dialect: Protocol, request: Fields): Fields => convert(other(dialect), convert(dialect, request));

/** Without white space at its ends, which Anthropic's API refuses at the end of a conversation. */
const said = fc
  .string({ unit: 'grapheme', minLength: 1, maxLength: 20 })
  .filter((text) => text.trim() === text && text !== '');
/** Ids that are numbers only are replaced in responses, because models repeat them. */
const id = fc.oneof(
  fc
    .string({
      unit: fc.constantFrom('a', 'Z', '0', '_', '-'),
      minLength: 1,
      maxLength: 12,
    })
    .filter((given) => !/^[_-]?\d+$/.test(given)),
  fc.constantFrom('functions.weather:0', 'call 1', 'é', 'mgw_', 'mgw_YQ', 'chatcmpl-tool-1'),
);
const name = fc.string({ unit: fc.constantFrom('a', 'Z', '0', '_', '-'), minLength: 1, maxLength: 64 });
/** An id of a user that nobody takes for a telephone number. */
const user = name.map((given) => `u${given}`.slice(0, 64));
const input = fc
  .dictionary(
    fc.string({ maxLength: 6 }).filter((key) => key !== '__proto__'),
    fc.jsonValue({ maxDepth: 2 }),
    { maxKeys: 3 },
  )
  .map((value) => JSON.parse(JSON.stringify(value)) as Fields);
const base64 = fc.uint8Array({ minLength: 1, maxLength: 12 }).map((bytes) => Buffer.from(bytes).toString('base64'));
const schema = fc
  .record({
    type: fc.constant('object'),
    properties: fc.dictionary(name, fc.constantFrom({ type: 'string' }, { type: ['number', 'null'] }), { maxKeys: 3 }),
    additionalProperties: fc.constant(false),
  })
  .map((value) => ({ ...(JSON.parse(JSON.stringify(value)) as Fields), required: Object.keys(value.properties) }));
/** A conversation with tool calls declares tools. */
const toolsFor = <T>(all: readonly Round[], tools: readonly T[] | undefined, one: T): readonly T[] | undefined =>
  tools ?? (all.some(({ calls }) => calls.length > 0) ? [one] : undefined);
const NO_INPUT = { type: 'object', properties: {}, required: [] };
const optional = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> => fc.option(value, { nil: undefined });
/** A request after JSON: undefined members are absent. */
const plain = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;

/** Turns of a user and the model, which may call tools, whose results follow, repeated. */
const rounds = fc
  .array(
    fc
      .record({
        user: fc.array(
          fc.oneof(
            fc.record({ text: said }),
            fc.record({ image: fc.oneof(base64, fc.webUrl()) }),
            fc.record({ pdf: base64, title: said }),
          ),
          { minLength: 1, maxLength: 3 },
        ),
        text: optional(said),
        calls: fc.uniqueArray(fc.record({ id, name, input, result: fc.oneof(said, fc.constant('')) }), {
          selector: (call) => call.id,
          maxLength: 3,
        }),
      })
      .filter(({ text, calls }) => text !== undefined || calls.length > 0),
    { minLength: 1, maxLength: 3 },
  )
  // repeated ids become others
  .filter((all) => {
    const ids = all.flatMap(({ calls }) => calls.map((call) => legal(call.id)));
    return new Set(ids).size === ids.length;
  });
type Round = typeof rounds extends fc.Arbitrary<(infer R)[]> ? R : never;
type Piece = Round['user'][number];

const single = (parts: Fields[]): unknown =>
  parts.length === 1 && parts[0]?.['type'] === 'text' ? parts[0]['text'] : parts;
const isWeb = (image: string): boolean => image.startsWith('http');

function openaiPart(piece: Piece): Fields {
  if ('text' in piece) return { type: 'text', text: piece.text };
  if ('image' in piece)
    return {
      type: 'image_url',
      image_url: { url: isWeb(piece.image) ? piece.image : `data:image/png;base64,${piece.image}` },
    };
  return { type: 'file', file: { filename: piece.title, file_data: `data:application/pdf;base64,${piece.pdf}` } };
}

function openaiMessages(all: readonly Round[]): Fields[] {
  return all.flatMap(({ user, text, calls }) => [
    { role: 'user', content: single(user.map(openaiPart)) },
    {
      role: 'assistant',
      content: text ?? null,
      ...(calls.length > 0
        ? {
            tool_calls: calls.map((call) => ({
              id: call.id,
              type: 'function',
              function: { name: call.name, arguments: JSON.stringify(call.input) },
            })),
          }
        : {}),
    },
    ...calls.map((call) => ({ role: 'tool', tool_call_id: call.id, content: call.result })),
  ]);
}

function anthropicBlock(piece: Piece): Fields {
  if ('text' in piece) return { type: 'text', text: piece.text };
  if ('image' in piece)
    return {
      type: 'image',
      source: isWeb(piece.image)
        ? { type: 'url', url: piece.image }
        : { type: 'base64', media_type: 'image/png', data: piece.image },
    };
  return {
    type: 'document',
    source: { type: 'base64', media_type: 'application/pdf', data: piece.pdf },
    title: piece.title,
  };
}

/** As in Anthropic's protocol: ids of other providers are rewritten for its clients. */
const legal = (given: string): string => given.replace(/[^a-zA-Z0-9_-]|^mgw_/g, 'x');

function anthropicMessages(all: readonly Round[]): Fields[] {
  let results: Fields[] = [];
  const messages: Fields[] = [];
  for (const { user, text, calls } of all) {
    messages.push({ role: 'user', content: single([...results, ...user.map(anthropicBlock)]) });
    messages.push({
      role: 'assistant',
      content: single([
        ...(text === undefined
          ? []
          : [
              {
                type: 'text',
                text,
              },
            ]),
        ...calls.map((call) => ({ type: 'tool_use', id: legal(call.id), name: call.name, input: call.input })),
      ]),
    });
    results = calls.map((call) => ({ type: 'tool_result', tool_use_id: legal(call.id), content: call.result }));
  }
  return results.length > 0 ? [...messages, { role: 'user', content: results }] : messages;
}

test("an OpenAI conversation, to Anthropic's protocol and back", () => {
  const settings = fc.record({
    max_tokens: fc.integer({ min: 1, max: 9999 }),
    temperature: optional(fc.double({ min: 0, max: 1, noNaN: true })),
    top_p: optional(
      fc.double({
        min: 0,
        max: 1,
        noNaN: true,
      }),
    ),
    user: optional(user),
    stop: optional(fc.array(said, { minLength: 1, maxLength: 4 })),
    tools: optional(
      fc.array(
        fc
          .record({
            name,
            description: optional(said),
            parameters: schema,
            strict: optional(fc.boolean()),
          })
          .map((definition) => ({ type: 'function', function: definition })),
        { minLength: 1, maxLength: 3 },
      ),
    ),
    response_format: optional(
      schema.map((each) => ({ type: 'json_schema', json_schema: { name: 'answer', schema: each, strict: true } })),
    ),
    reasoning_effort: optional(fc.constantFrom('low', 'medium', 'high')),
    service_tier: optional(fc.constant('default')),
    stream: fc.constantFrom(true, undefined),
  });
  fc.assert(
    fc.property(
      optional(said),
      rounds,
      settings,
      fc.constantFrom(undefined, 'auto', 'required', 'none', 'first'),
      (system, all, { reasoning_effort: effort, ...rest }, choice) => {
        // a thinking model accepts no sampling settings
        const tools = toolsFor(all, rest.tools, {
          type: 'function',
          function: {
            name: 't',
            description: undefined,
            parameters: NO_INPUT,
            strict: undefined,
          },
        });
        const set = plain(
          effort === undefined
            ? { ...rest, tools }
            : { ...rest, tools, reasoning_effort: effort, temperature: undefined, top_p: undefined },
        );
        const named =
          choice === 'first' ? { type: 'function', function: { name: set.tools?.[0]?.function.name } } : choice;
        const request = plain({
          model: 'm',
          messages: [
            ...(system === undefined ? [] : [{ role: 'system', content: system }]),
            ...openaiMessages(all),
            // a thinking model does not continue an answer
            ...(effort === undefined ? [] : [{ role: 'user', content: 'Go on.' }]),
          ],
          ...set,
          ...(set.tools && choice !== undefined ? { tool_choice: named } : {}),
          ...(set.stream === true ? { stream_options: { include_usage: true } } : {}),
        });
        assert.deepEqual(thereAndBack('OpenAI', request), request);
      },
    ),
    { numRuns: 400 },
  );
});

test("an Anthropic conversation, to OpenAI's protocol and back", () => {
  const settings = fc.record({
    max_tokens: fc.integer({ min: 1, max: 9999 }),
    system: optional(said),
    temperature: optional(
      fc.double({
        min: 0,
        max: 1,
        noNaN: true,
      }),
    ),
    top_p: optional(fc.double({ min: 0, max: 1, noNaN: true })),
    stop_sequences: optional(fc.array(said, { minLength: 1, maxLength: 4 })),
    metadata: optional(fc.record({ user_id: user })),
    tools: optional(
      fc.array(
        fc.record({
          name,
          description: optional(said),
          input_schema: schema,
          strict: optional(fc.boolean()),
        }),
        { minLength: 1, maxLength: 3 },
      ),
    ),
    output_config: optional(schema.map((each) => ({ format: { type: 'json_schema', schema: each } }))),
    service_tier: optional(fc.constant('standard_only')),
    stream: fc.constantFrom(true, undefined),
  });
  fc.assert(
    fc.property(
      rounds,
      settings,
      fc.constantFrom(undefined, 'auto', 'any', 'none', 'tool'),
      fc.boolean(),
      (all, rest, type, single) => {
        const set = plain({
          ...rest,
          tools: toolsFor(all, rest.tools, {
            name: 't',
            description: undefined,
            input_schema: NO_INPUT,
            strict: undefined,
          }),
        });
        const named = type === 'tool' ? { type, name: set.tools?.[0]?.name } : { type };
        const request = plain({
          model: 'm',
          messages: anthropicMessages(all),
          ...set,
          ...(set.tools && type !== undefined
            ? { tool_choice: single && type !== 'none' ? { ...named, disable_parallel_tool_use: true } : named }
            : {}),
        });
        assert.deepEqual(thereAndBack('Anthropic', request), request);
      },
    ),
    { numRuns: 400 },
  );
});

const CONTEXT = { id: 'x', createdSeconds: 0, estimatedInputTokens: 0 };

/** A provider's response, converted for a client of the other protocol, and back. */
function answerThereAndBack(upstream: Protocol, answer: Fields): Fields {
  const once = converterFor(other(upstream), upstream).response(Buffer.from(JSON.stringify(answer)), CONTEXT).body;
  return JSON.parse(
    Buffer.from(converterFor(upstream, other(upstream)).response(once, CONTEXT).body).toString('utf8'),
  ) as Fields;
}

const tokens = fc.nat(100_000);
/** Zero beside text is estimated. */
const counted = tokens.map((count) => count + 1);

test("an Anthropic answer, to OpenAI's protocol and back", () => {
  const content = fc
    .tuple(
      optional(said),
      optional(said),
      fc.uniqueArray(fc.record({ id, name, input }), { selector: (call) => legal(call.id), maxLength: 3 }),
    )
    .map(([thinking, text, calls]) => [
      ...(thinking === undefined ? [] : [{ type: 'thinking', thinking, signature: '' }]),
      ...(text === undefined ? [] : [{ type: 'text', text }]),
      ...calls.map((call) => ({ type: 'tool_use', ...call, id: legal(call.id) })),
    ]);
  fc.assert(
    fc.property(
      content,
      fc.constantFrom('end_turn', 'max_tokens'),
      fc.tuple(tokens, tokens, counted, counted),
      (blocks, reason, [read, written, fresh, output]) => {
        const calls = blocks.some(({ type }) => type === 'tool_use');
        const answer = {
          id: 'msg_x',
          type: 'message',
          role: 'assistant',
          model: 'm',
          content: blocks,
          stop_reason: calls && reason === 'end_turn' ? 'tool_use' : reason,
          stop_sequence: null,
          usage: {
            input_tokens: fresh,
            cache_creation_input_tokens: written,
            cache_read_input_tokens: read,
            output_tokens: output,
            output_tokens_details: { thinking_tokens: 0 },
            service_tier: 'standard',
          },
        };
        assert.deepEqual(answerThereAndBack('Anthropic', answer), answer);
      },
    ),
    { numRuns: 400 },
  );
});

test("an OpenAI answer, to Anthropic's protocol and back", () => {
  fc.assert(
    fc.property(
      fc.tuple(optional(said), optional(said)),
      fc.uniqueArray(fc.record({ id, name, input }), { selector: (call) => call.id, maxLength: 3 }),
      fc.constantFrom('stop', 'length'),
      fc.tuple(tokens, tokens, counted, counted),
      ([reasoning, text], calls, reason, [cached, written, fresh, output]) => {
        const prompt = cached + written + fresh;
        const answer = {
          id: 'chatcmpl-x',
          object: 'chat.completion',
          created: 0,
          model: 'm',
          service_tier: 'default',
          choices: [
            {
              index: 0,
              message: {
                role: 'assistant',
                content: text ?? null,
                refusal: null,
                ...(reasoning === undefined ? {} : { reasoning_content: reasoning }),
                ...(calls.length > 0
                  ? {
                      tool_calls: calls.map((call) => ({
                        id: call.id,
                        type: 'function',
                        function: { name: call.name, arguments: JSON.stringify(call.input) },
                      })),
                    }
                  : {}),
              },
              logprobs: null,
              finish_reason: calls.length > 0 && reason === 'stop' ? 'tool_calls' : reason,
            },
          ],
          usage: {
            prompt_tokens: prompt,
            completion_tokens: output,
            total_tokens: prompt + output,
            prompt_tokens_details: { cached_tokens: cached, cache_write_tokens: written },
            completion_tokens_details: { reasoning_tokens: 0 },
          },
        };
        assert.deepEqual(answerThereAndBack('OpenAI', answer), plain(answer));
      },
    ),
    { numRuns: 400 },
  );
});
