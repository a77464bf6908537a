/** Requests and responses through every pair of protocols: golden files, and lossless passthrough. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { test } from 'vitest';
import { readChatFacts as readAnthropicFacts } from '../../../../dataplane/protocol/anthropic/facts.ts';
import { RequestFault } from '../../../../dataplane/protocol/call-facts.ts';
import type { RequestPlan } from '../../../../dataplane/protocol/converter.ts';
import { converterFor } from '../../../../dataplane/protocol/providers.ts';
import { readChatFacts as readOpenAiFacts } from '../../../../dataplane/protocol/openai/facts.ts';
import { parseBody } from '../../../../dataplane/protocol/parse-body.ts';
import { assertGolden, indent, pretty } from './golden.ts';
import { TESTDATA } from './replay.ts';
import type { Protocol } from './replay.ts';

const DIALECTS: readonly Protocol[] = ['OpenAI', 'Anthropic'];
const PLAN: RequestPlan = {
  upstreamModel: 'upstream-model',
  maxOutputTokens: 1000,
  outputLimitField: 'max_completion_tokens',
};
const UNCHANGED: RequestPlan = {
  upstreamModel: 'm',
  maxOutputTokens: undefined,
  outputLimitField: 'max_completion_tokens',
};

/** The body that is sent, or the refusal. */
function convert(client: Protocol, upstream: Protocol, body: Buffer, plan: RequestPlan): string {
  try {
    const parsed = parseBody(body);
    (client === 'OpenAI' ? readOpenAiFacts : readAnthropicFacts)(body, parsed);
    return Buffer.from(converterFor(client, upstream).request(body, parsed, plan).body).toString('utf8');
  } catch (error) {
    if (!(error instanceof RequestFault)) throw error;
    return `${error.code} ${error.param}: ${error.message}`;
  }
}

const send = (client: Protocol, upstream: Protocol, fields: object, plan: Partial<RequestPlan> = {}): string =>
  convert(
    client,
    upstream,
    Buffer.from(
      JSON.stringify({
        model: 'm',
        messages: [{ role: 'user', content: 'hi' }],
        ...fields,
      }),
    ),
    { ...UNCHANGED, ...plan },
  );

/** The field that a refusal names. */
const refused = (client: Protocol, upstream: Protocol, fields: object): string | undefined =>
  /^(?:unsupported_parameter|invalid_request) ([^:]*): /.exec(
    send(client, upstream, fields, { maxOutputTokens: 9 }),
  )?.[1];

function inputs(kind: 'request' | 'response', dialect: Protocol): string[] {
  const folder = join(TESTDATA, `${dialect.toLowerCase()}-${kind}s`);
  return readdirSync(folder)
    .filter((file) => file.endsWith('.in.json'))
    .map((file) => join(folder, file));
}

/** Passed-through bytes are kept; converted ones are indented for readers. */
const written = (client: Protocol, upstream: Protocol, sent: string): string =>
  client === upstream ? sent : indent(sent);
const nameOf = (path: string): string => path.replace(/^.*\//, '').replace(/\.in\.json$/, '');
for (const client of DIALECTS) {
  for (const upstream of DIALECTS) {
    const pair = `${client.toLowerCase()}-${upstream.toLowerCase()}`;
    for (const path of inputs('request', client)) {
      test(`${pair}: request ${nameOf(path)}`, () => {
        assertGolden(
          join(TESTDATA, `${client.toLowerCase()}-requests`, `${nameOf(path)}.to-${upstream.toLowerCase()}.out.txt`),
          written(client, upstream, convert(client, upstream, readFileSync(path), PLAN)),
        );
      });
    }
    for (const path of inputs('response', upstream)) {
      test(`${pair}: answer ${nameOf(path)}`, () => {
        const input = readFileSync(path);
        const { body, meter } = converterFor(client, upstream).response(input, {
          id: 'req-1',
          createdSeconds: 1_800_000_000,
          nowSeconds: () => 1_800_000_000,
          estimatedInputTokens: 77,
        });
        if (client === upstream) assert.deepEqual(Buffer.from(body), input);
        else
          assertGolden(
            join(TESTDATA, `${upstream.toLowerCase()}-responses`, `${nameOf(path)}.to-${client.toLowerCase()}.out.txt`),
            indent(Buffer.from(body).toString('utf8')),
          );
        assertGolden(
          join(TESTDATA, `${upstream.toLowerCase()}-responses`, `${nameOf(path)}.meter.json`),
          pretty(meter),
        );
      });
    }
  }
}

for (const client of ['Responses', 'Gemini'] as const)
  for (const upstream of DIALECTS) {
    for (const path of inputs('response', upstream)) {
      test(`${client.toLowerCase()}-${upstream.toLowerCase()}: answer ${nameOf(path)}`, () => {
        const { body, meter } = converterFor(client, upstream).response(readFileSync(path), {
          id: 'req-1',
          createdSeconds: 1_800_000_000,
          nowSeconds: () => 1_800_000_000,
          estimatedInputTokens: 77,
        });
        const folder = join(TESTDATA, `${upstream.toLowerCase()}-responses`);
        const golden = join(folder, `${nameOf(path)}.to-${client.toLowerCase()}.out.txt`);
        assertGolden(golden, indent(Buffer.from(body).toString('utf8')));
        assertGolden(join(folder, `${nameOf(path)}.meter.json`), pretty(meter));
      });
    }
  }

test('a request that needs no change is sent byte for byte', () => {
  for (const dialect of DIALECTS) {
    const body = Buffer.from(
      '{ "model":"m" , "messages":[{"role":"user","content":"\\u0068i"}],"x":12345678901234567890,"max_tokens":5 }',
    );
    assert.equal(converterFor(dialect, dialect).request(body, parseBody(body), UNCHANGED).body, body);
    assert.equal(
      converterFor(dialect, dialect).request(body, parseBody(body), {
        upstreamModel: 'm',
        maxOutputTokens: 5,
        outputLimitField: 'max_tokens',
      }).body,
      body,
    );
  }
});

test('the output limit is sent in the one field that the provider supports', () => {
  const limit = (fields: object, plan: Partial<RequestPlan>): string =>
    send('OpenAI', 'OpenAI', fields, plan).replace(/.*}],?/, '');
  assert.equal(limit({}, { maxOutputTokens: 7 }), '"max_completion_tokens":7}');
  assert.equal(limit({ max_tokens: 7 }, { maxOutputTokens: 7 }), '"max_completion_tokens":7}');
  assert.equal(
    limit({ max_completion_tokens: 9 }, { maxOutputTokens: 7, outputLimitField: 'max_tokens' }),
    '"max_tokens":7}',
  );
  assert.equal(
    limit({ max_tokens: 9, max_completion_tokens: 9 }, { maxOutputTokens: 7 }),
    '"max_completion_tokens":7}',
  );
  assert.equal(limit({ max_tokens: null }, { maxOutputTokens: 7 }), '"max_tokens":null,"max_completion_tokens":7}');
  assert.equal(limit({ max_tokens: 9 }, {}), '"max_tokens":9}');
});

test('streams request usage, and other options stay', () => {
  const options = (fields: object): string =>
    send('OpenAI', 'OpenAI', { stream: true, ...fields }).replace(/.*"stream":true,?/, '');
  assert.equal(options({}), '"stream_options":{"include_usage":true}}');
  assert.equal(options({ stream_options: null }), '"stream_options":{"include_usage":true}}');
  assert.equal(
    options({ stream_options: { include_obfuscation: false } }),
    '"stream_options":{"include_obfuscation":false,"include_usage":true}}',
  );
  assert.equal(
    options({ stream_options: { include_usage: false, x: 1 } }),
    '"stream_options":{"include_usage":true,"x":1}}',
  );
  assert.equal(
    options({ stream_options: { include_usage: true, x: 1 } }),
    '"stream_options":{"include_usage":true,"x":1}}',
  );
  assert.equal(
    send('OpenAI', 'OpenAI', { stream: false }),
    send('OpenAI', 'OpenAI', {}).replace('}]}', '}],"stream":false}'),
  );
});

test('any other field passes through with its bytes, whatever changes around it', () => {
  const field = fc.tuple(
    fc.string({ unit: 'binary', minLength: 1 }).map((name) => `x-${name}`),
    fc.json({ stringUnit: 'binary' }),
  );
  fc.assert(
    fc.property(
      fc.uniqueArray(field, { selector: ([name]) => name, maxLength: 6 }),
      fc.constantFrom(...DIALECTS),
      (fields, dialect) => {
        const own = fields.map(([name, text]) => `${JSON.stringify(name)}: ${text}`);
        const body = Buffer.from(
          `{"model":"m",${[...own, '"messages":[{"role":"user","content":"hi"}]'].join(' , ')},"stream":true}`,
        );
        const sent = Buffer.from(converterFor(dialect, dialect).request(body, parseBody(body), PLAN).body).toString(
          'utf8',
        );
        assert.ok(
          sent.startsWith(
            `{"model":"upstream-model",${[...own, '"messages":[{"role":"user","content":"hi"}]'].join(' , ')},"stream":true`,
          ),
          sent,
        );
      },
    ),
  );
});

test('a field without an equivalent at Anthropic is refused by name', () => {
  for (const [fields, param] of [
    [{ logit_bias: { 50256: -100 } }, 'logit_bias'],
    [{ web_search_options: {} }, 'web_search_options'],
    [{ moderation: {} }, 'moderation'],
    [{ functions: [{ name: 'f', novel: 1 }] }, 'functions[0].novel'],
    [{ response_format: { type: 'grammar' } }, 'response_format.type'],
    [{ tools: [{ type: 'web_search' }] }, 'tools[0].type'],
    [{ tools: [{ type: 'function', function: { name: 'f' } }], tool_choice: { type: 'novel' } }, 'tool_choice'],
    [{ something_new: 1 }, 'something_new'],
    [
      {
        messages: [
          {
            role: 'user',
            content: [{ type: 'input_audio', input_audio: { data: 'AAAA' } }],
          },
        ],
      },
      'messages[0].content[0].input_audio',
    ],
    [
      {
        messages: [
          {
            role: 'user',
            content: [{ type: 'file', file: { file_id: 'f' } }],
          },
        ],
      },
      'messages[0].content[0].file',
    ],
    [{ messages: [{ role: 'function', name: 'f', content: 'x' }] }, 'messages[0].role'],
    [{ messages: [{ role: 'robot', content: 'x' }] }, 'messages[0].role'],
    [{ messages: [{ role: 'assistant', audio: { id: 'a' } }] }, 'messages[0].audio'],
    [{ messages: [{ role: 'user', content: ' ' }] }, 'messages[0]'],
    [{ messages: [{ role: 'tool', content: 'x' }] }, 'messages[0].tool_call_id'],
    [
      {
        messages: [
          {
            role: 'user',
            content: [{ type: 'image_url', image_url: { url: 'ftp://x' } }],
          },
        ],
      },
      'messages[0].content[0].image_url.url',
    ],
    [
      {
        messages: [
          {
            role: 'system',
            content: [{ type: 'image_url', image_url: { url: 'https://x' } }],
          },
          { role: 'user', content: 'x' },
        ],
      },
      'messages[0].content[0].type',
    ],
  ] as const)
    assert.equal(refused('OpenAI', 'Anthropic', fields), param, JSON.stringify(fields));
});

test('a setting without an equivalent at Anthropic is named', () => {
  for (const fields of [
    { seed: 3 },
    { n: 2 },
    { logprobs: true },
    { frequency_penalty: 0.5 },
    { presence_penalty: -1 },
    { verbosity: 'low' },
  ]) {
    const request = { model: 'm', messages: [{ role: 'user', content: 'hi' }], ...fields };
    const { dropped } = converterFor('OpenAI', 'Anthropic').request(
      Buffer.from(JSON.stringify(request)),
      request,
      PLAN,
    );
    assert.deepEqual(dropped, Object.keys(fields));
  }
});

test('a field without an equivalent at OpenAI is refused by name', () => {
  const block = (content: unknown): object => ({ messages: [{ role: 'user', content: [content] }] });
  for (const [fields, param] of [
    [{ mcp_servers: [{}] }, 'mcp_servers'],
    [{ container: 'c' }, 'container'],
    [{ speed: 'fast' }, 'speed'],
    [{ fallbacks: 'default' }, 'fallbacks'],
    [{ something_new: 1 }, 'something_new'],
    [{ stop_sequences: ['1', '2', '3', '4', '5'] }, 'stop_sequences'],
    [{ tools: [{ type: 'bash_20250124', name: 'bash' }] }, 'tools[0].type'],
    [{ context_management: { edits: [{ type: 'clear_tool_uses_20250919' }] } }, 'context_management.edits[0]'],
    [{ tools: [{ name: 'f' }], tool_choice: { type: 'novel' } }, 'tool_choice'],
    [block({ type: 'image', source: { type: 'file', file_id: 'f' } }), 'messages[0].content[0].source'],
    [block({ type: 'document', source: { type: 'url', url: 'x' } }), 'messages[0].content[0].source'],
    [block({ type: 'search_result', citations: { enabled: true } }), 'messages[0].content[0].citations'],
    [
      block({
        type: 'document',
        source: { type: 'content', content: [{ type: 'document' }] },
      }),
      'messages[0].content[0].source.content[0].type',
    ],
    [{ messages: [{ role: 'assistant', content: [{ type: 'compaction' }] }] }, 'messages[0].content[0].type'],
    [{ messages: [{ role: 'robot', content: 'x' }] }, 'messages[0].role'],
    [{ system: [{ type: 'image' }] }, 'system[0].type'],
    [{ output_config: { format: { type: 'grammar' } } }, 'output_config.format'],
  ] as const)
    assert.equal(refused('Anthropic', 'OpenAI', fields), param, JSON.stringify(fields));
});

test('an invalid response is a SyntaxError', () => {
  for (const client of DIALECTS)
    for (const upstream of DIALECTS)
      for (const body of [
        '',
        '<html>',
        '[]',
        'null',
        '{}',
        '{"error":{"message":"x"}}',
        '{"choices":5,"content":5}',
        '{"choices":[{"message":',
      ])
        assert.throws(
          () => converterFor(client, upstream).response(Buffer.from(body)),
          SyntaxError,
          `${client} ${upstream} ${body}`,
        );
});
