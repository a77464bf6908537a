/**
 * The tables are correct: a field that is Converted changes the sent request, one that is Dropped does not, and one
 * that is refused is refused by name. Each field has an example here, and each field of the official SDKs' types is in
 * a table.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'vitest';
import * as anthropicMessages from '../../../../dataplane/protocol/clients/anthropic/table.ts';
import * as openaiChat from '../../../../dataplane/protocol/providers/openai-chat/table.ts';
import { RequestFault } from '../../../../dataplane/protocol/call-facts.ts';
import type { ChatDialect } from '../../../../dataplane/protocol/call-facts.ts';
import { converterFor } from '../../../../dataplane/protocol/providers.ts';
import type { Handling, ObjectTable } from '../../../../dataplane/protocol/field-table.ts';
import * as toAnthropic from '../../../../dataplane/protocol/openai-anthropic/table.ts';
import * as responses from '../../../../dataplane/protocol/clients/responses/table.ts';
import type { ProviderKind } from '../../../../dataplane/protocol/provider.ts';
import * as toMessages from '../../../../dataplane/protocol/gemini-anthropic/table.ts';
import { GEMINI_DIALECT } from './gemini-dialect-examples.ts';
import { OPENAI } from './openai-examples.ts';
import type { Examples, Fields } from './field-examples.ts';

interface Pair {
  readonly client: ChatDialect;
  readonly upstream: ProviderKind;
}

/** The sent request, the context of the response's conversion, and the fields that the response names. */
function convert({ client, upstream }: Pair, fields: Fields, model = 'u'): string {
  // Responses have another limit, and Google's protocol has it among other settings
  const limit = client === 'OpenAI' || client === 'Anthropic' ? { max_tokens: 900 } : {};
  const request = { model: 'm', ...limit, ...fields };
  const body = Buffer.from(JSON.stringify(request));
  const {
    body: sent,
    notes,
    dropped,
  } = converterFor(client, upstream).request(body, JSON.parse(body.toString()), {
    upstreamModel: model,
    maxOutputTokens: client === 'Gemini' ? 900 : undefined,
    outputLimitField: 'max_tokens',
  });
  return Buffer.from(sent).toString('utf8') + JSON.stringify([notes, dropped]);
}

function faultOf(make: () => unknown): RequestFault | undefined {
  try {
    make();
    return undefined;
  } catch (error) {
    assert.ok(error instanceof RequestFault, String(error));
    return error;
  }
}

const ROLES: ReadonlySet<object> = new Set([toAnthropic.ROLES]);

const PAIRS: readonly (readonly [Pair, readonly Examples[]])[] = [
  [{ client: 'OpenAI', upstream: 'Anthropic' }, OPENAI],
  [{ client: 'Gemini', upstream: 'Anthropic' }, GEMINI_DIALECT],
];

for (const [pair, examples] of PAIRS) {
  describe(`the request of a client of ${pair.client} to ${pair.upstream}`, () => {
    for (const { table, base, place, values, beside = {}, unseen = [], model } of examples) {
      const kinds = 'kinds' in table;
      const handlings: ReadonlyMap<string, Handling> = kinds ? table.kinds : table.fields;
      test(table.title, () => {
        assert.deepEqual(Object.keys(values).sort(), [...handlings.keys()].sort(), 'an example for each field');
        for (const [name, handling] of handlings) {
          const without = kinds ? base : { ...base, ...beside[name] };
          const given = kinds
            ? { ...base, type: name, role: name, ...(values[name] as Fields) }
            : { ...without, [name]: values[name] };
          // a text is in one member or the other
          if (kinds) delete given[ROLES.has(table) ? 'type' : 'role'];
          const make = (): string => convert(pair, place(given), model);
          if (handling.action === 'Refused') {
            const fault = faultOf(make);
            assert.equal(fault?.code, 'unsupported_parameter', `${name} is not refused`);
            if (!kinds)
              assert.ok(
                fault.param === name || fault.param?.endsWith(`.${name}`),
                `${name}: the refusal names ${fault.param}`,
              );
            for (const neutral of handling.neutral)
              assert.equal(
                convert(pair, place({ ...without, [name]: neutral }), model),
                convert(pair, place(without), model),
                `${name} neutral`,
              );
          } else if (handling.action === 'Omitted') {
            const named = kinds ? `[ .]?\\(?${name}|tool_choice` : name;
            assert.match(make(), new RegExp(`"[^"]*${named}[^"]*"\\]\\]$`), name);
            for (const neutral of handling.neutral)
              assert.doesNotMatch(
                convert(pair, place({ ...without, [name]: neutral }), model),
                new RegExp(`${name}"\\]\\]$`),
              );
          } else if (handling.action === 'Dropped') assert.equal(make(), convert(pair, place(without), model), name);
          else if (unseen.includes(name)) make();
          else if (kinds)
            assert.notEqual(
              make(),
              faultOf(() => convert(pair, place(base), model)) ? '' : convert(pair, place(base), model),
              name,
            );
          else assert.notEqual(make(), convertOr(pair, place(without), model), `${name} changes nothing`);
        }
        const novel = kinds ? { ...base, type: 'novel', role: 'novel' } : { ...base, novel: 1 };
        assert.match(faultOf(() => convert(pair, place(novel), model))?.param ?? '', /novel|type|MimeType|role|source/);
        assert.equal(
          faultOf(() => convert(pair, place({ ...base, novel: null }), model))?.param?.includes('novel'),
          kinds ? faultOf(() => convert(pair, place(base), model))?.param?.includes('novel') : undefined,
        );
      });
    }
  });
}

/** The sent request, or undefined if there is none: an example may need the field. */
function convertOr(pair: Pair, fields: Fields, model: string | undefined): string {
  try {
    return convert(pair, fields, model);
  } catch (error) {
    assert.ok(error instanceof RequestFault);
    return '';
  }
}

test('every table of requests has examples', () => {
  const shown = new Set([...OPENAI, ...GEMINI_DIALECT].map(({ table }) => table as object));
  for (const table of [...toAnthropic.REQUEST_TABLES, ...toMessages.REQUEST_TABLES])
    assert.ok('values' in table || shown.has(table), table.title);
});

/** Names of an interface's own members, out of a package's types. */
function members(file: string, name: string): string[] {
  const text = readFileSync(join(import.meta.dirname, '../../../../node_modules', file), 'utf8').replaceAll(
    /\/\*\*[^]*?\*\//g,
    '',
  );
  const body = new RegExp(`^export interface ${name} (?:extends [^{]+)?\\{\n([^]*?)^\\}`, 'm').exec(text)?.[1];
  assert.ok(body !== undefined, `${name} in ${file}`);
  return [...body.matchAll(/^ {4}([a-z_]+)\??:/gm)].map(([, member]) => member ?? '');
}

test('every field of the official SDKs is in a table', () => {
  const OPENAI_TYPES = 'openai/resources/chat/completions/completions.d.ts';
  const ANTHROPIC_TYPES = '@anthropic-ai/sdk/resources/messages/messages.d.ts';
  const RESPONSE_TYPES = 'openai/resources/responses/responses.d.ts';
  const BETA_TYPES = '@anthropic-ai/sdk/resources/beta/messages/messages.d.ts';
  const places: readonly (readonly [string, string, ObjectTable])[] = [
    [OPENAI_TYPES, 'ChatCompletionCreateParamsBase', toAnthropic.REQUEST],
    [OPENAI_TYPES, 'ChatCompletionAssistantMessageParam', toAnthropic.ASSISTANT_MESSAGE],
    [OPENAI_TYPES, 'ChatCompletionMessage', toAnthropic.ASSISTANT_MESSAGE],
    [OPENAI_TYPES, 'ChatCompletionUserMessageParam', toAnthropic.USER_MESSAGE],
    [OPENAI_TYPES, 'ChatCompletionSystemMessageParam', toAnthropic.SYSTEM_MESSAGE],
    [OPENAI_TYPES, 'ChatCompletionDeveloperMessageParam', toAnthropic.SYSTEM_MESSAGE],
    [OPENAI_TYPES, 'ChatCompletionToolMessageParam', toAnthropic.TOOL_MESSAGE],
    [OPENAI_TYPES, 'ChatCompletionFunctionMessageParam', toAnthropic.TOOL_MESSAGE],
    [OPENAI_TYPES, 'ChatCompletionContentPartText', toAnthropic.TEXT_PART],
    [OPENAI_TYPES, 'ChatCompletionContentPartImage', toAnthropic.IMAGE_PART],
    [OPENAI_TYPES, 'ChatCompletionContentPartRefusal', toAnthropic.REFUSAL_PART],
    [OPENAI_TYPES, 'ChatCompletionStreamOptions', toAnthropic.STREAM_OPTIONS],
    [OPENAI_TYPES, 'ChatCompletionFunctionTool', toAnthropic.TOOL],
    [OPENAI_TYPES, 'ChatCompletionCustomTool', toAnthropic.TOOL],
    [OPENAI_TYPES, 'ChatCompletion', openaiChat.COMPLETION],
    [RESPONSE_TYPES, 'ResponseCreateParamsBase', responses.REQUEST],
    [RESPONSE_TYPES, 'ResponseOutputMessage', responses.MESSAGE],
    [RESPONSE_TYPES, 'EasyInputMessage', responses.MESSAGE],
    [RESPONSE_TYPES, 'ResponseReasoningItem', responses.REASONING],
    [RESPONSE_TYPES, 'ResponseFunctionToolCall', responses.FUNCTION_CALL],
    [RESPONSE_TYPES, 'ResponseCustomToolCall', responses.CUSTOM_CALL],
    [RESPONSE_TYPES, 'ResponseCustomToolCallOutput', responses.CALL_OUTPUT],
    [RESPONSE_TYPES, 'ResponseToolSearchCall', responses.TOOL_SEARCH_CALL],
    [RESPONSE_TYPES, 'ResponseToolSearchOutputItemParam', responses.TOOL_SEARCH_OUTPUT],
    [RESPONSE_TYPES, 'ResponseInputText', responses.TEXT_PART],
    [RESPONSE_TYPES, 'ResponseOutputText', responses.TEXT_PART],
    [RESPONSE_TYPES, 'ResponseOutputRefusal', responses.REFUSAL_PART],
    [RESPONSE_TYPES, 'ResponseInputImage', responses.IMAGE_PART],
    [RESPONSE_TYPES, 'ResponseInputFile', responses.FILE_PART],
    [RESPONSE_TYPES, 'FunctionTool', responses.FUNCTION_TOOL],
    [RESPONSE_TYPES, 'CustomTool', responses.CUSTOM_TOOL],
    [RESPONSE_TYPES, 'NamespaceTool', responses.NAMESPACE_TOOL],
    [RESPONSE_TYPES, 'ToolSearchTool', responses.TOOL_SEARCH_TOOL],
    [RESPONSE_TYPES, 'ResponseTextConfig', responses.TEXT_SETTINGS],
    [RESPONSE_TYPES, 'ResponseFormatTextJSONSchemaConfig', responses.FORMAT],
    ['openai/resources/shared.d.ts', 'Reasoning', responses.REASONING_SETTINGS],
    [ANTHROPIC_TYPES, 'MessageCreateParamsBase', anthropicMessages.REQUEST],
    [ANTHROPIC_TYPES, 'Tool', anthropicMessages.TOOL],
    [ANTHROPIC_TYPES, 'DocumentBlockParam', anthropicMessages.DOCUMENT_BLOCK],
    [BETA_TYPES, 'BetaOutputConfig', anthropicMessages.OUTPUT_CONFIG],
    [BETA_TYPES, 'BetaSystemMessageParam', anthropicMessages.MESSAGE],
    [ANTHROPIC_TYPES, 'Metadata', anthropicMessages.METADATA],
    [ANTHROPIC_TYPES, 'TextBlockParam', anthropicMessages.TEXT_BLOCK],
    [ANTHROPIC_TYPES, 'ImageBlockParam', anthropicMessages.IMAGE_BLOCK],
    [ANTHROPIC_TYPES, 'SearchResultBlockParam', anthropicMessages.SEARCH_RESULT_BLOCK],
    [ANTHROPIC_TYPES, 'ToolResultBlockParam', anthropicMessages.TOOL_RESULT_BLOCK],
    [ANTHROPIC_TYPES, 'ToolUseBlockParam', anthropicMessages.TOOL_USE_BLOCK],
    [ANTHROPIC_TYPES, 'ThinkingBlockParam', anthropicMessages.THINKING_BLOCK],
    [ANTHROPIC_TYPES, 'Message', toAnthropic.MESSAGE],
    [ANTHROPIC_TYPES, 'Usage', toAnthropic.USAGE],
    [ANTHROPIC_TYPES, 'ToolUseBlock', toAnthropic.TOOL_USE_BLOCK],
    [ANTHROPIC_TYPES, 'TextBlock', toAnthropic.TEXT_BLOCK],
  ];
  const missing = places.flatMap(([file, name, table]) =>
    members(file, name)
      .filter((member) => !table.fields.has(member))
      .map((member) => `${name}.${member}`),
  );
  // names of parameters that are headers
  assert.deepEqual(missing, []);
});
