/** Streams as providers send them, valid or not: mostly runs of events that differ in their text only. */
import fc from 'fast-check';
import type { Protocol } from './replay.ts';

export const DIALECTS: readonly Protocol[] = ['OpenAI', 'Anthropic'];

/** The text of a JSON string as providers write it, valid or not. */
export const text = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom('a', ' the', 'ü', '東京', '🗼', ' ', '') },
  {
    weight: 2,
    arbitrary: fc.constantFrom(
      '\\n',
      '\\"',
      '\\\\',
      '\\/',
      '\\t\\r\\b\\f',
      '\\u0041',
      '\\u00e9',
      '\\ud83d\\ude00',
      '\\ud800',
      'x\\',
    ),
  },
  {
    weight: 2,
    arbitrary: fc.constantFrom(
      '\\"usage\\":{\\"completion_tokens\\":9}',
      'data: [DONE]',
      '\\n\\ndata: [DONE]\\n\\n',
      '"usage":{"completion_tokens":7}',
      '","finish_reason":"stop',
      '"}',
      '}]}',
    ),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom('\0', '\u0001', '\u007f', '\ufeff', '\u2028', '\n', '\r', '\r\n', '\n\n', '\xff'),
  },
  {
    weight: 1,
    arbitrary: fc.string({ unit: 'binary', maxLength: 6 }).map((value) => JSON.stringify(value).slice(1, -1)),
  },
  { weight: 1, arbitrary: fc.nat(4000).map((size) => 'long '.repeat(size)) },
);

export const lineEnd = fc.constantFrom('\n\n', '\n\n', '\n\n', '\r\n\r\n', '\r\r', '\n\r\n');

const openaiShape = fc.record({
  delta: fc.constantFrom(
    (t: string) => `{"content":"${t}"}`,
    (t: string) => `{"content":"${t}"}`,
    (t: string) => `{"role":"assistant","content":"${t}","refusal":null}`,
    (t: string) => `{"refusal":"${t}"}`,
    (t: string) => `{"content":null,"reasoning_content":"${t}"}`,
    (t: string) => `{"reasoning":"${t}","reasoning_content":"${t}"}`,
    (t: string) => `{"reasoning":"b","reasoning_content":"${t}","content":"c"}`,
    (t: string) => `{"tool_calls":[{"index":0,"function":{"arguments":"${t}"}}]}`,
    (t: string) =>
      `{"tool_calls":[{"index":0,"id":"i","function":{"name":"n","arguments":"${t}"}},{"index":1,` +
      `"function":{"arguments":"x"}}],"content":"${t}"}`,
    (t: string) => `{"c\\u006fntent":"${t}"}`,
    (t: string) => `{"content":"first","content":"${t}"}`,
    (t: string) => `{"content":[{"type":"text","text":"${t}"}]}`,
  ),
  tail: fc.constantFrom(
    '',
    '',
    ',"usage":null',
    ',"usage":null,"obfuscation":"ab"',
    ',"obfuscation":"abcd"',
    ',"\\u0075sage":null',
    ',"usage":{"prompt_tokens":3,"completion_tokens":2}',
    ',"x_groq":{"usage":{"completion_tokens":4}}',
    ',"usage":"none"',
    ',"error":null',
    ',"error":{"message":"m"}',
  ),
  head: fc.constantFrom(
    '',
    '',
    '"usage":null,',
    '"created":1,',
    '"created":22,',
    '"created":1.5,',
    '"p":"zz",',
    '"p":"",',
  ),
  finish: fc.constantFrom(
    '',
    ',"finish_reason":null',
    ',"finish_reason":null',
    ',"finish_reason":""',
    ',"finish_reason":"stop"',
  ),
  before: fc.constantFrom('', '', '', ': hello\n', 'event: chunk\n', 'id: 7\n', 'event: error\n', ': data: {}\n'),
  colon: fc.constantFrom('data: ', 'data:', 'data:  '),
});

const openaiEvent = fc
  .tuple(openaiShape, fc.array(text, { minLength: 1, maxLength: 6 }), lineEnd, fc.constantFrom(0, 0, 0, 1))
  .map(([shape, texts, end, index]) => {
    const { delta, tail, head, finish, before, colon } = shape;
    // most of a stream is one kind of event
    return texts
      .map(
        (value) =>
          `${before}${colon}{${head}"id":"c","choices":[{"index":${index},"delta":${delta(value)}${finish}}]${tail}}${end}`,
      )
      .join('');
  });
const openaiOther = fc.constantFrom(
  ': ping\n\n',
  'data: [DONE]\n\n',
  'data: {"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":6}}\n\n',
  'data: nothing\n\n',
  '\n',
  '\ufeff',
  'data: {"error":{"message":"broken"}}\n\n',
  'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n',
);

/** Deltas of the same kind, in a block of this number. */
const anthropicDelta = fc
  .tuple(
    fc.constantFrom(
      (t: string) => `{"type":"text_delta","text":"${t}"}`,
      (t: string) => `{"type": "text_delta", "text": "${t}"}`,
      (t: string) => `{"type":"thinking_delta","thinking":"${t}"}`,
      (t: string) => `{"type":"input_json_delta","partial_json":"${t}"}`,
      (t: string) => `{"type":"signature_delta","signature":"${t}"}`,
      (t: string) => `{"type":"x","text":"a","other":"${t}","text":"b"}`,
      (t: string) => `{"type":"x","other":"o","text":"${t}","thinking":"${t}"}`,
    ),
    fc.array(text, { minLength: 1, maxLength: 6 }),
    lineEnd,
    fc.constantFrom(
      '',
      '',
      ',"usage":{"output_tokens":3}',
      ',"message":{"usage":{"input_tokens":1}}',
      ',"usage":null',
      ',"p":"abc"',
    ),
  )
  .map(([delta, texts, end, tail]) =>
    texts
      .map(
        (value) =>
          `event: content_block_delta\ndata: ` +
          `{"type":"content_block_delta","index":0,"delta":${delta(value)}${tail}}${end}`,
      )
      .join(''),
  );
const anthropicOther = fc.constantFrom(
  'event: ping\ndata: {"type":"ping"}\n\n',
  'event: message_start\ndata: {"type":"message_start","message":{"usage":{"input_tokens":4,"output_tokens":1}}}\n\n',
  'event: content_block_start\ndata: ' +
    '{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}\n\n',
  'event: message_delta\ndata: ' +
    '{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":7}}\n\n',
  'event: message_stop\ndata: {"type":"message_stop"}\n\n',
  'event: error\ndata: {"type":"error","error":{"message":"m"}}\n\n',
);

export const streams = {
  OpenAI: fc.array(fc.oneof({ weight: 5, arbitrary: openaiEvent }, { weight: 1, arbitrary: openaiOther }), {
    maxLength: 8,
  }),
  Anthropic: fc.array(fc.oneof({ weight: 5, arbitrary: anthropicDelta }, { weight: 1, arbitrary: anthropicOther }), {
    maxLength: 8,
  }),
};

/** The positions at which a stream is cut into chunks. */
export const places = fc.array(fc.nat(3000), { maxLength: 8 });

/** Changes, removes or inserts a few bytes. */
export const changes = fc.array(
  fc.tuple(
    fc.nat(),
    fc.constantFrom(0, 0x0a, 0x0d, 0x22, 0x5c, 0x20, 0x7b, 0x7d, 0x80, 0xc3, 0xed, 0xff, 0x30),
    fc.constantFrom('change', 'remove', 'insert'),
  ),
  { minLength: 1, maxLength: 4 },
);

export function changed(bytes: Buffer, edits: readonly (readonly [number, number, string])[]): Buffer {
  return edits.reduce((left, [place, byte, edit]) => {
    const at = place % Math.max(1, left.length);
    return Buffer.concat([
      left.subarray(0, at),
      Buffer.from(edit === 'remove' ? [] : [byte]),
      left.subarray(edit === 'insert' ? at : at + 1),
    ]);
  }, bytes);
}
