/**
 * What a response is held to: any JSON, a schema of an object, a list or one of some words. Providers hold their models
 * to it where they can, and the response is what the client asked for; else the model is asked, and the field is named.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import type { ConversionNotes, HeldValue } from '../../../../dataplane/protocol/converter.ts';
import type { ConversationEvent } from '../../../../dataplane/protocol/conversation/events.ts';
import { asObjectFormat, HeldValueReader } from '../../../../dataplane/protocol/conversation/held-value.ts';
import { fold } from '../../../../dataplane/protocol/conversation/response.ts';
import type { JsonRecord } from '../../../../dataplane/protocol/fields.ts';
import { converterFor } from '../../../../dataplane/protocol/providers.ts';
import { PAIRS, send } from './pairs.ts';
import type { ProviderName } from './pairs.ts';
import { byteByByte, replay, STREAM_REQUEST } from './replay.ts';

const CONTENTS = [{ role: 'user', parts: [{ text: 'hi' }] }];
const CITY = {
  type: 'OBJECT',
  properties: { city: { type: 'STRING' } },
  required: ['city'],
  property_ordering: ['city'],
};
const MIME = 'application/json';

/** A model that takes schemas, and one that does not. */
const MODELS: Readonly<Record<Exclude<ProviderName, 'Gemini'>, readonly [string, string]>> = {
  'chat completions': ['gpt-5.1', 'deepseek-v4'],
  Responses: ['gpt-5.6', 'deepseek-v4'],
  Anthropic: ['claude-sonnet-4-5', 'claude-3-7-sonnet'],
  Converse: ['anthropic.claude-sonnet-4-5', 'anthropic.claude-3-7-sonnet'],
};

/** The format as each provider writes it. */
function formatOf(provider: ProviderName, body: JsonRecord): unknown {
  const at = (...names: readonly string[]): unknown =>
    names.reduce<unknown>((value, name) => (value as JsonRecord | undefined)?.[name], body);
  switch (provider) {
    case 'chat completions':
      return at('response_format', 'json_schema', 'schema') ?? at('response_format', 'type');
    case 'Responses':
      return at('text', 'format', 'schema') ?? at('text', 'format', 'type');
    case 'Anthropic':
      return at('output_config', 'format', 'schema');
    case 'Converse': {
      const schema = at('outputConfig', 'textFormat', 'structure', 'jsonSchema', 'schema');
      return typeof schema === 'string' ? JSON.parse(schema) : undefined;
    }
    case 'Gemini':
      return at('generationConfig', 'responseJsonSchema');
  }
}

const OF_GOOGLE = PAIRS.filter(({ client }) => client === 'Gemini');

describe("a client of Google's protocol", () => {
  for (const pair of OF_GOOGLE) {
    const [model, older] = MODELS[pair.provider as keyof typeof MODELS];
    const isOpenAi = pair.provider === 'chat completions' || pair.provider === 'Responses';
    const formatIn = (generationConfig: JsonRecord, upstream = model): readonly [unknown, readonly string[]] => {
      const { body, dropped } = send(pair, { contents: CONTENTS, generationConfig }, upstream);
      return [formatOf(pair.provider, body), dropped];
    };
    it(`gets any JSON of ${pair.provider}`, () => {
      assert.deepEqual(
        formatIn({ responseMimeType: MIME }),
        isOpenAi ? ['json_object', []] : [undefined, ['generationConfig.responseMimeType']],
      );
    });
    it(`gets an object of ${pair.provider}`, () => {
      const [format, dropped] = formatIn({ responseMimeType: MIME, responseSchema: CITY });
      const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
      assert.deepEqual(format, isOpenAi ? schema : { ...schema, additionalProperties: false });
      assert.deepEqual(dropped, []);
    });
    it(`gets one of some words of ${pair.provider}`, () => {
      const words = { responseMimeType: 'text/x.enum', responseSchema: { type: 'STRING', enum: ['yes', 'no'] } };
      assert.deepEqual(formatIn(words), [
        {
          type: 'object',
          properties: { answer: { type: 'string', enum: ['yes', 'no'] } },
          required: ['answer'],
          additionalProperties: false,
        },
        [],
      ]);
    });
    it(`gets a list of ${pair.provider}`, () => {
      const [format, dropped] = formatIn({ responseSchema: { type: 'ARRAY', items: { type: 'STRING' } } });
      assert.deepEqual(format, {
        type: 'object',
        properties: { answer: { type: 'array', items: { type: 'string' } } },
        required: ['answer'],
        additionalProperties: false,
      });
      assert.deepEqual(dropped, []);
    });
    it(`has what a model of ${pair.provider} cannot be held to named`, () => {
      for (const config of [
        { responseMimeType: 'text/x.enum', responseSchema: { type: 'STRING', enum: ['yes', 'no'] } },
        { responseMimeType: MIME, responseSchema: { type: 'ARRAY', items: { type: 'STRING' } } },
        { responseMimeType: MIME, responseSchema: CITY },
      ])
        assert.deepEqual(formatIn(config, older)[1], ['generationConfig.responseMimeType']);
    });
  }
});

/** A stream of Anthropic's protocol with these pieces of text. */
function streamOf(pieces: readonly string[]): Buffer {
  const events: readonly JsonRecord[] = [
    { type: 'message_start', message: { id: 'm', usage: { input_tokens: 1 } } },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    ...pieces.map((text) => ({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } })),
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 9 } },
    { type: 'message_stop' },
  ];
  return Buffer.from(
    events.map((event) => `event: ${String(event['type'])}\ndata: ${JSON.stringify(event)}\n\n`).join(''),
  );
}

describe('a response that is held to an object', () => {
  const converter = converterFor('Gemini', 'Anthropic');
  const notesOf = (responseSchema: JsonRecord, responseMimeType: string): ConversionNotes | undefined => {
    const request = { contents: CONTENTS, generationConfig: { responseMimeType, responseSchema } };
    const plan = { upstreamModel: 'claude-sonnet-4-5', maxOutputTokens: 9, outputLimitField: 'max_tokens' } as const;
    return converter.request(Buffer.from(JSON.stringify(request)), request, plan).notes;
  };
  const textsIn = (sent: string): string =>
    [...sent.matchAll(/"text":("(?:[^"\\]|\\.)*")/g)].map(([, text = '""']) => JSON.parse(text) as string).join('');
  const wholeAndStreamed = (notes: ConversionNotes | undefined, text: string): readonly string[] => {
    const message = { content: [{ type: 'text', text }], stop_reason: 'end_turn', usage: { output_tokens: 9 } };
    const context = {
      id: 'r',
      createdSeconds: 0,
      nowSeconds: () => 0,
      estimatedInputTokens: 0,
      ...(notes && { notes }),
    };
    const body = Buffer.from(converter.response(Buffer.from(JSON.stringify(message)), context).body).toString();
    const bytes = streamOf(text.split(''));
    const { sent, last } = replay(converter.stream({ ...STREAM_REQUEST, ...(notes && { notes }) }), byteByByte(bytes));
    return [textsIn(body), textsIn(sent + last)];
  };

  it('is the list that the client asked for, whole and streamed', () => {
    const notes = notesOf({ type: 'ARRAY', items: CITY }, MIME);
    for (const [text, list] of [
      ['{"answer":[{"city":"Oslo"},{"city":"}"}]}', '[{"city":"Oslo"},{"city":"}"}]'],
      ['{ "answer" : [] }\n', '[]'],
      ['{\n  "answer": [\n    1,\n    2\n  ]\n}', '[\n    1,\n    2\n  ]'],
    ] as const)
      assert.deepEqual(wholeAndStreamed(notes, text), [list, list]);
  });
  it('is the word, without quotes', () => {
    const notes = notesOf({ type: 'STRING', enum: ['yes', 'no', 'a "b"'] }, 'text/x.enum');
    assert.deepEqual(wholeAndStreamed(notes, '{"answer":"yes"}'), ['yes', 'yes']);
    assert.deepEqual(wholeAndStreamed(notes, '{"answer": "a \\"b\\""}\n'), ['a "b"', 'a "b"']);
  });
  it('stays as it is where the model writes something else, or is cut off', () => {
    const notes = notesOf({ type: 'STRING', enum: ['yes', 'no'] }, 'text/x.enum');
    for (const text of ['I would rather not.', '{"other":1}', '{"ans', '[1]', ''])
      assert.deepEqual(wholeAndStreamed(notes, text), [text, text]);
    assert.deepEqual(wholeAndStreamed(notes, '{"answer":"ye'), ['"ye', '"ye']);
  });
  it('is cut off where the model is', () => {
    const notes = notesOf({ type: 'ARRAY', items: CITY }, MIME);
    for (const list of ['[', '[{"city":"\\', '[{"city":"Oslo"}', '[1, ', '[[1]'])
      assert.deepEqual(wholeAndStreamed(notes, `{"answer":${list}`), [list, list]);
  });
  it('ends where the value ends', () => {
    const notes = notesOf({ type: 'ARRAY', items: CITY }, MIME);
    for (const [text, value] of [
      ['{"answer":[1],"more":{}}', '[1]'],
      ['{"answer":12 }', '12'],
      ['{"answer":"}]\\"" }}\n', '"}]\\""'],
      ['{"answer":null}', 'null'],
    ] as const)
      assert.deepEqual(wholeAndStreamed(notes, text), [value, value]);
  });
  it('comes before the call that follows it, and stays whole around the proof of a reasoning', () => {
    const finish = { type: 'finish', reason: 'ToolCalls', detail: undefined } as const;
    const call: readonly ConversationEvent[] = [
      { type: 'call-start', id: 'c', name: 'look' },
      { type: 'call-delta', text: '{}' },
      { type: 'call-end' },
    ];
    const proof = { type: 'reasoning-end', proof: undefined } as const;
    const told = (held: HeldValue, events: readonly ConversationEvent[]): readonly string[] => {
      const reader = new HeldValueReader(held);
      const read = events.flatMap((event) => reader.read([event]));
      return fold(read).candidates.flatMap(({ parts }) =>
        parts.map((part) => (part.type === 'Text' ? part.text : part.type)),
      );
    };
    const text = (piece: string): ConversationEvent => ({ type: 'text-delta', text: piece });
    const pieces = (whole: string): readonly ConversationEvent[] => whole.split('').map(text);
    const value = '{"answer":{"a":1}}';
    for (const piecesOf of [pieces, (whole: string) => [text(whole)]]) {
      assert.deepEqual(told('Json', [...piecesOf(value), ...call, finish]), ['{"a":1}', 'ToolCall']);
      assert.deepEqual(told('Word', [...piecesOf('{"answer":"yes"}'), ...call, finish]), ['yes', 'ToolCall']);
      assert.deepEqual(told('Word', [...piecesOf('{"answer":"ye'), ...call, finish]), ['"ye', 'ToolCall']);
      assert.deepEqual(told('Json', [...piecesOf('{"ans'), ...call, finish]), ['{"ans', 'ToolCall']);
      const twice = [...piecesOf('I look.'), ...call, ...piecesOf(value), finish];
      assert.deepEqual(told('Json', twice), ['I look.', 'ToolCall', '{"a":1}']);
    }
    assert.deepEqual(told('Json', [text('{"answer":{"a"'), proof, text(':1}'), proof, text('}'), finish]), ['{"a":1}']);
  });
  it('takes time by its length, whatever stands at its ends', () => {
    const reader = new HeldValueReader('Json');
    const started = process.cpuUsage();
    const pieces = ['{"answer":["', ...Array.from({ length: 100_000 }, () => ' }'), '"]}'];
    const events = pieces.flatMap((text) => reader.read([{ type: 'text-delta', text }]));
    const [candidate] = fold([
      ...events,
      ...reader.read([{ type: 'finish', reason: 'Stop', detail: undefined }]),
    ]).candidates;
    assert.equal(candidate?.parts[0]?.type === 'Text' && candidate.parts[0].text.length, 200_004);
    assert.ok(process.cpuUsage(started).user < 2_000_000);
  });
});

describe('the schema of a list that refers to itself', () => {
  const schemaOf = (schema: JsonRecord): JsonRecord | undefined =>
    asObjectFormat({ type: 'Schema', schema, name: undefined, description: undefined, strict: undefined })?.format
      .schema;
  const objectWith = (answer: JsonRecord, rest: JsonRecord = {}): JsonRecord => ({
    type: 'object',
    properties: { answer },
    required: ['answer'],
    additionalProperties: false,
    ...rest,
  });

  it('is a definition, to which the references are', () => {
    const list = { $schema: 'x', $id: 'https://x.example/list', type: 'array', items: { $ref: '#' } };
    const moved = { type: 'array', items: { $ref: '#/$defs/answer' } };
    assert.deepEqual(schemaOf(list), objectWith({ $ref: '#/$defs/answer' }, { $defs: { answer: moved } }));
    const node = (root: string): JsonRecord => ({
      type: 'object',
      properties: { $ref: { const: { $ref: '#' } }, all: { $ref: root }, first: { $ref: `${root}/items` } },
    });
    const items = { anyOf: [{ $ref: '#/$defs/answer' }, { $ref: '#/definitions/b' }, { $ref: '#anchor' }] };
    assert.deepEqual(
      schemaOf({ type: 'array', items, $defs: { answer: node('#') }, definitions: { b: { not: { $ref: '#' } } } }),
      objectWith(
        { $ref: '#/$defs/answer_' },
        {
          $defs: { answer: node('#/$defs/answer_'), answer_: { type: 'array', items } },
          definitions: { b: { not: { $ref: '#/$defs/answer_' } } },
        },
      ),
    );
  });
  it('stays in its place if it refers to definitions only', () => {
    const list = { type: 'array', items: { $ref: '#/$defs/a' }, multipleOf: JSON.rawJSON('1.0') };
    const $defs = { a: { type: 'string' } };
    assert.deepEqual(schemaOf({ ...list, $defs }), objectWith(list, { $defs }));
  });
  it('is asked for in words if it refers to another document, or has parts of their own address', () => {
    for (const items of [{ $ref: 'other.json' }, { $id: 'part', $ref: '#' }, { $recursiveRef: '#' }]) {
      assert.equal(schemaOf({ type: 'array', items }), undefined);
      for (const pair of OF_GOOGLE) {
        const generationConfig = { responseMimeType: MIME, responseJsonSchema: { type: 'array', items } };
        const [model] = MODELS[pair.provider as keyof typeof MODELS];
        const { body, dropped } = send(pair, { contents: CONTENTS, generationConfig }, model);
        assert.deepEqual([formatOf(pair.provider, body), dropped], [undefined, ['generationConfig.responseMimeType']]);
      }
    }
  });
});
