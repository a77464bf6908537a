/** Requests in the Responses dialect, converted: golden files, refusals, and reasoning that returns sealed. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'vitest';
import { RequestFault } from '../../../../dataplane/protocol/call-facts.ts';
import type { ConversionNotes, RequestPlan } from '../../../../dataplane/protocol/converter.ts';
import { parseBody } from '../../../../dataplane/protocol/parse-body.ts';
import type { ProviderKind } from '../../../../dataplane/protocol/provider.ts';
import { converterFor } from '../../../../dataplane/protocol/providers.ts';
import { sealReasoning } from '../../../../dataplane/protocol/conversation/sealed-reasoning.ts';
import { assertGolden, pretty } from './golden.ts';
import { TESTDATA } from './replay.ts';
import { sealFor } from './seal.ts';

interface Case {
  readonly upstreamModel: string;
  readonly request: object;
}

interface Sent {
  readonly dropped: readonly string[];
  readonly tools: object;
  readonly sent: Record<string, unknown>;
}

const FOLDER = join(TESTDATA, 'responses-requests');
const PLAN: RequestPlan = {
  upstreamModel: 'vendor/chat-1',
  maxOutputTokens: 1000,
  outputLimitField: 'max_completion_tokens',
};

function convert(upstream: ProviderKind, request: object, plan: Partial<RequestPlan> = {}): Sent {
  const body = Buffer.from(JSON.stringify(request));
  const {
    body: sent,
    dropped = [],
    notes,
  } = converterFor('Responses', upstream).request(body, parseBody(body), { ...PLAN, ...plan });
  return {
    dropped,
    tools: Object.fromEntries(toolsOf(notes)),
    sent: JSON.parse(Buffer.from(sent).toString('utf8')) as Record<string, unknown>,
  };
}

function toolsOf(notes: ConversionNotes | undefined): ReadonlyMap<string, unknown> {
  return notes?.responseTools ?? new Map<string, unknown>();
}

function faultOf(upstream: ProviderKind, request: object, plan: Partial<RequestPlan> = {}): string {
  try {
    convert(upstream, { model: 'm', input: 'hi', ...request }, plan);
  } catch (error) {
    assert.ok(error instanceof RequestFault, String(error));
    assert.ok(error.param === undefined || error.message.includes(`"${error.param}"`), error.message);
    return `${error.code} ${error.param}`;
  }
  return '';
}

describe('a request is converted', () => {
  for (const file of readdirSync(FOLDER).filter((name) => name.endsWith('.in.json'))) {
    const name = file.slice(0, -'.in.json'.length);
    for (const upstream of ['OpenAI', 'Anthropic'] as const) {
      it(`${name} to ${upstream}`, () => {
        const { upstreamModel, request } = JSON.parse(readFileSync(join(FOLDER, file), 'utf8')) as Case;
        // numbers stay as they are
        const golden = pretty(convert(upstream, request, { upstreamModel }));
        assertGolden(join(FOLDER, `${name}.to-${upstream.toLowerCase()}.out.json`), golden);
      });
    }
  }
});

describe('a field that cannot be converted is refused by name', () => {
  const USER = { role: 'user', content: 'hi' };
  const refused: Record<string, object> = {
    previous_response_id: { previous_response_id: 'resp_1' },
    conversation: { conversation: 'conv_1' },
    prompt: { prompt: { id: 'p' } },
    background: { background: true },
    moderation: { moderation: {} },
    brand_new_field: { brand_new_field: 1 },
    'input[1].type': { input: [USER, { type: 'compaction_trigger' }] },
    'input[0].type': { input: [{ type: 'item_reference', id: 'msg_1' }] },
    'input[0].content[0].type': { input: [{ role: 'user', content: [{ type: 'input_video' }] }] },
    'input[0].content[0].file_id': { input: [{ role: 'user', content: [{ type: 'input_image', file_id: 'f' }] }] },
    'tools[0].type': { tools: [{ type: 'brand_new' }] },
    'text.format.type': { text: { format: { type: 'grammar' } } },
    'tool_choice.type': { tools: [{ type: 'function', name: 'f' }], tool_choice: { type: 'brand_new' } },
  };
  for (const [param, request] of Object.entries(refused))
    for (const upstream of ['OpenAI', 'Anthropic'] as const)
      it(`${param} to ${upstream}`, () => {
        assert.equal(faultOf(upstream, request), `unsupported_parameter ${param}`);
      });

  it('audio, by a provider that has none', () => {
    const part = { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } };
    const audio = { input: [{ role: 'user', content: [part] }] };
    assert.equal(faultOf('Anthropic', audio), 'unsupported_parameter input[0].content[0].input_audio');
    assert.deepEqual(convert('OpenAI', { model: 'm', ...audio }).sent['messages'], [{ role: 'user', content: [part] }]);
  });
  it('files by URL, to chat completions', () => {
    const part = { type: 'input_file', file_url: 'https://example.com/a.pdf' };
    const file = { input: [{ role: 'user', content: [part] }] };
    assert.equal(faultOf('OpenAI', file), 'unsupported_parameter input[0].content[0].file_url');
  });
  it('tools that the provider runs, if the route says so', () => {
    const search = { tools: [{ type: 'function', name: 'f' }, { type: 'web_search' }] };
    assert.equal(faultOf('OpenAI', search, { providerTools: 'Refuse' }), 'unsupported_parameter tools[1].type');
    assert.equal(faultOf('OpenAI', search), '');
  });
  it('malformed fields', () => {
    for (const [param, request] of Object.entries({
      'input[0].call_id': { input: [{ type: 'function_call_output', output: 'x' }] },
      'input[0].role': { input: [{ role: 'robot', content: 'x' }] },
      'input[0]': { input: ['x'] },
      'tools[0].name': { tools: [{ type: 'function' }] },
      text: { text: 'x' },
      'text.format.schema': { text: { format: { type: 'json_schema', name: 'x' } } },
      'input[0].content[0].image_url': { input: [{ role: 'user', content: [{ type: 'input_image' }] }] },
    }))
      assert.equal(faultOf('OpenAI', request), `invalid_request ${param}`);
  });
});

describe('names of tools', () => {
  const named = (tools: readonly object[]): string[] => {
    const { sent } = convert('OpenAI', { model: 'm', input: 'hi', tools });
    return (sent['tools'] as { function: { name: string } }[]).map((tool) => tool.function.name);
  };

  it('stay distinct, although chat completions have one list of them', () => {
    const names = named([
      { type: 'function', name: 'a__b' },
      { type: 'namespace', name: 'a', tools: [{ type: 'function', name: 'b' }] },
      { type: 'namespace', name: 'a__b', tools: [{ type: 'function', name: 'c' }] },
      { type: 'namespace', name: 'a', tools: [{ type: 'function', name: 'b__c' }] },
    ]);
    assert.equal(new Set(names).size, 4);
    for (const name of names) assert.match(name, /^[\w-]{1,64}$/);
  });
  it('are rewritten consistently if the API does not allow them', () => {
    const tools = [
      { type: 'function', name: 'with spaces' },
      { type: 'function', name: 'x'.repeat(80) },
    ];
    assert.deepEqual(named(tools), named(tools));
    for (const name of named(tools)) assert.match(name, /^[\w-]{1,64}$/);
  });
});

describe('sealed reasoning', () => {
  const seal = sealFor('route/one');
  const asked = (encrypted: string): object => ({
    model: 'm',
    input: [
      { role: 'user', content: 'hi' },
      { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: encrypted },
      { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' },
      { type: 'function_call_output', call_id: 'c', output: 'x' },
    ],
    tools: [{ type: 'function', name: 'f' }],
  });
  const reasoningIn = ({ sent }: Sent): unknown =>
    (sent['messages'] as Record<string, unknown>[])[1]?.['reasoning_content'];

  it('returns to models that support it, whichever channel created it', () => {
    const encrypted = sealReasoning(sealFor('route/other'), { text: 'I call f.', proof: undefined });
    assert.equal(reasoningIn(convert('OpenAI', asked(encrypted), { upstreamModel: 'kimi-k2', seal })), 'I call f.');
    assert.equal(reasoningIn(convert('OpenAI', asked(encrypted), { seal })), undefined);
  });
  it('of another provider is left out', () => {
    for (const encrypted of [
      'gAAAA',
      seal.seal('encrypted', 'x'),
      sealReasoning(sealFor('route/other'), { text: 't', proof: { maker: 'Anthropic', signature: 's' } }),
    ])
      assert.equal(reasoningIn(convert('OpenAI', asked(encrypted), { upstreamModel: 'glm-4.7', seal })), undefined);
    const own = sealReasoning(seal, { text: 'I call f.', proof: undefined });
    assert.equal(reasoningIn(convert('OpenAI', asked(own), { upstreamModel: 'glm-4.7' })), undefined);
  });
});

describe('thinking that Anthropic signed', () => {
  const seal = sealFor('route/one');
  const THINKING = { type: 'thinking', thinking: 'I call f.', signature: 'sig' };
  const REDACTED = { type: 'redacted_thinking', data: 'hidden' };
  const USE = { type: 'tool_use', id: 'toolu_1', name: 'f', input: { a: 1 } };
  const MESSAGE = {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'claude',
    stop_reason: 'tool_use',
    stop_sequence: null,
    content: [THINKING, { type: 'text', text: 'First.' }, REDACTED, USE],
    usage: { input_tokens: 1, output_tokens: 2 },
  };
  const USER = { role: 'user', content: 'hi' };
  const OUTPUT = { type: 'function_call_output', call_id: 'toolu_1', output: 'x' };
  const answered = (): unknown[] => {
    const context = { id: 'req_1', createdSeconds: 0, nowSeconds: () => 0, estimatedInputTokens: 1, seal };
    const { body } = converterFor('Responses', 'Anthropic').response(Buffer.from(JSON.stringify(MESSAGE)), context);
    return (JSON.parse(Buffer.from(body).toString('utf8')) as { output: unknown[] }).output;
  };
  const sentBack = (plan: Partial<RequestPlan>): unknown => {
    const request = { model: 'm', input: [USER, ...answered(), OUTPUT], tools: [{ type: 'function', name: 'f' }] };
    const { sent } = convert('Anthropic', request, { upstreamModel: 'claude-opus-4-6', ...plan });
    return (sent['messages'] as { content: unknown }[])[1]?.content;
  };

  it('returns unchanged, in its place', () => {
    assert.deepEqual(sentBack({ seal }), MESSAGE.content);
  });
  it('is left out for another channel, and without a key', () => {
    const rest = MESSAGE.content.filter((block) => !block.type.endsWith('thinking'));
    assert.deepEqual(sentBack({ seal: sealFor('route/other') }), rest);
    assert.deepEqual(sentBack({}), rest);
  });
  it('is hidden from providers of chat completions', () => {
    const request = { model: 'm', input: [USER, ...answered(), OUTPUT] };
    const { sent } = convert('OpenAI', request, { seal, upstreamModel: 'kimi-k2' });
    assert.doesNotMatch(JSON.stringify(sent), /"sig"|hidden|sealed/);
  });
});

describe("a field that a model on Anthropic's protocol does not support", () => {
  it('is named: log probabilities', () => {
    const request = { model: 'm', input: 'hi', top_logprobs: 2 };
    assert.deepEqual(convert('Anthropic', request).dropped, ['top_logprobs']);
    const { dropped, sent } = convert('OpenAI', request);
    assert.deepEqual([dropped, sent['logprobs'], sent['top_logprobs']], [[], true, 2]);
  });
  it("is named in the client's dialect", () => {
    const { dropped } = convert(
      'Anthropic',
      {
        model: 'm',
        input: 'hi',
        reasoning: { effort: 'high' },
        temperature: 0.5,
        service_tier: 'priority',
        tools: [{ type: 'web_search' }, { type: 'function', name: 'f', strict: true }],
      },
      { upstreamModel: 'claude-3-5-sonnet' },
    );
    assert.deepEqual(dropped, ['tools[0] (web_search)', 'reasoning.effort', 'tools[1].strict', 'service_tier']);
  });
  it("is refused by its name in the client's dialect", () => {
    const image = { type: 'input_image', image_url: 'ftp://example.com/x' };
    const file = { type: 'input_file', file_data: 'data:application/zip;base64,AAAA' };
    for (const [param, request] of Object.entries({
      'input[1].content[0].image_url': {
        input: [
          { role: 'user', content: 'a' },
          { role: 'user', content: [image] },
        ],
      },
      'input[0].content[0].file_data': { instructions: 'i', input: [{ role: 'user', content: [file] }] },
      'input[2].output[0].file_data': {
        input: [
          { role: 'user', content: 'a' },
          { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' },
          { type: 'function_call_output', call_id: 'c', output: [file] },
        ],
      },
      service_tier: { service_tier: 'flex' },
    }))
      assert.match(faultOf('Anthropic', request), new RegExp(` ${param.replaceAll(/[[\].]/g, String.raw`\$&`)}$`));
  });
});
