/** The paths and bodies of each cloud, whose writers write them once. */
import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import type { ChatDialect } from '../../../../../dataplane/protocol/call-facts.ts';
import { chooseBetas } from '../../../../../dataplane/protocol/platforms/betas.ts';
import { parseBody } from '../../../../../dataplane/protocol/parse-body.ts';
import { toPlatformPath } from '../../../../../dataplane/protocol/platforms/platform-request.ts';
import type { PlatformPlan } from '../../../../../dataplane/protocol/platforms/platform-request.ts';
import type { CountedDialect, ProviderKind } from '../../../../../dataplane/protocol/provider.ts';
import { converterFor, providerOf } from '../../../../../dataplane/protocol/providers.ts';

const PLAN: PlatformPlan = {
  platform: 'BedrockInvoke',
  model: 'm:0',
  apiVersion: '2024-10-21',
  stream: true,
  betas: undefined,
};
const FLAGS = 'effort-2025-11-24,prompt-caching-scope-2026-01-05';

interface Sent {
  readonly path: string;
  readonly body: string;
  readonly dropped: readonly string[];
}

/** The request for a chat on a platform, as it is sent. */
function send(client: ChatDialect, provider: ProviderKind, body: string, platform?: PlatformPlan): Sent {
  const bytes = Buffer.from(body);
  const sent = converterFor(client, provider).request(bytes, parseBody(bytes), {
    upstreamModel: 'm:0',
    maxOutputTokens: 9,
    outputLimitField: 'max_tokens',
    platform,
  });
  return { path: toPlatformPath(sent.path, platform), body: text(sent.body), dropped: sent.dropped ?? [] };
}

/** The request that counts the tokens of a chat. */
function count(dialect: CountedDialect, provider: ProviderKind, body: string, platform: PlatformPlan): string {
  const bytes = Buffer.from(body);
  const counter = providerOf(provider).tokenCounters?.[dialect];
  assert.ok(counter);
  const { path, body: sent } = counter.request(bytes, parseBody(bytes), { upstreamModel: 'm:0', platform });
  return `${toPlatformPath(path, platform)} ${text(sent)}`;
}

const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString();

describe('toPlatformPath', () => {
  it("does not change requests to a protocol's own API", () => {
    assert.equal(toPlatformPath('/v1/messages', undefined), '/v1/messages');
  });
  it('adds the version to an existing query', () => {
    const path = toPlatformPath('/embeddings?a=b', { ...PLAN, platform: 'AzureDeployments' });
    assert.equal(path, '/openai/deployments/m%3A0/embeddings?a=b&api-version=2024-10-21');
  });
});

describe('a request on a platform', () => {
  it('keeps all other bytes of a body that passes through', () => {
    const body = '{"model":"m", "stream":true,"max_tokens":9, "messages":[ {"role":"user","content":"\\u0068i"}]}';
    assert.deepEqual(send('Anthropic', 'Anthropic', body, PLAN), {
      path: '/model/m%3A0/invoke-with-response-stream',
      body: '{"max_tokens":9, "messages":[ {"role":"user","content":"\\u0068i"}],"anthropic_version":"bedrock-2023-05-31"}',
      dropped: [],
    });
  });
  it('is written with the members of the platform where it is converted', () => {
    const body = '{"model":"m","stream":true,"messages":[{"role":"user","content":"hi"}]}';
    const bedrock = send('OpenAI', 'Anthropic', body, { ...PLAN, betas: 'context-management-2025-06-27' });
    assert.deepEqual(JSON.parse(bedrock.body), {
      max_tokens: 9,
      messages: [{ role: 'user', content: 'hi' }],
      anthropic_version: 'bedrock-2023-05-31',
      anthropic_beta: ['context-management-2025-06-27'],
    });
    const vertex = send('OpenAI', 'Anthropic', body, { ...PLAN, platform: 'VertexPublisher' });
    assert.equal(vertex.path, '/publishers/anthropic/models/m%3A0:streamRawPredict');
    assert.deepEqual(JSON.parse(vertex.body), {
      max_tokens: 9,
      messages: [{ role: 'user', content: 'hi' }],
      stream: true,
      anthropic_version: 'vertex-2023-10-16',
    });
  });
  it('leaves out members within members whose flags it does not take, passed through and converted alike', () => {
    const messages =
      '{"model":"m","output_config":{"effort":"low"},"max_tokens":9,"messages":[{"role":"user","content":"hi"}]}';
    const passed = send('Anthropic', 'Anthropic', messages, { ...PLAN, betas: FLAGS });
    assert.equal('output_config' in JSON.parse(passed.body), false);
    assert.deepEqual(passed.dropped, [
      'anthropic-beta=effort-2025-11-24',
      'anthropic-beta=prompt-caching-scope-2026-01-05',
    ]);
    const chat = '{"model":"m","reasoning_effort":"low","messages":[{"role":"user","content":"hi"}]}';
    const model = { ...PLAN, model: 'claude-opus-4-5' };
    assert.equal(
      'output_config' in JSON.parse(send('OpenAI', 'Anthropic', chat, { ...model, betas: FLAGS }).body),
      false,
    );
  });
  it('loses nothing of what passes through changed where flags are dropped too', () => {
    const foreign = { type: 'thinking', thinking: 'hm', signature: '' };
    const marked = { type: 'text', text: 'hi', cache_control: { type: 'ephemeral', scope: 'global' } };
    const body = JSON.stringify({
      model: 'm',
      max_tokens: 9,
      messages: [
        { role: 'user', content: [marked] },
        { role: 'assistant', content: [foreign, { type: 'text', text: 'yes' }] },
        { role: 'user', content: 'go on' },
      ],
    });
    assert.deepEqual(JSON.parse(send('Anthropic', 'Anthropic', body, { ...PLAN, betas: FLAGS }).body).messages, [
      { role: 'user', content: [{ ...marked, cache_control: { type: 'ephemeral' } }] },
      { role: 'assistant', content: [{ type: 'text', text: 'yes' }] },
      { role: 'user', content: 'go on' },
    ]);
  });
});

describe('a count of tokens on a platform', () => {
  const messages = '{"model":"m","messages":[{"role":"user","content":"hi"}]}';
  const wrapped = (inner: string): string =>
    JSON.stringify({ input: { invokeModel: { body: Buffer.from(inner).toString('base64') } } });
  it('wraps the body for Bedrock', () => {
    const inner =
      '{"messages":[{"role":"user","content":"hi"}],"anthropic_version":"bedrock-2023-05-31","max_tokens":64000}';
    assert.equal(count('Anthropic', 'Anthropic', messages, PLAN), `/model/m%3A0/count-tokens ${wrapped(inner)}`);
    const contents = '{"contents":[{"role":"user","parts":[{"text":"hi"}]}]}';
    assert.equal(count('Gemini', 'Anthropic', contents, PLAN), `/model/m%3A0/count-tokens ${wrapped(inner)}`);
  });
  it("names the model in the body of Vertex's count of Claude", () => {
    assert.equal(
      count('Anthropic', 'Anthropic', messages, { ...PLAN, platform: 'VertexPublisher' }),
      '/publishers/anthropic/models/count-tokens:rawPredict ' +
        '{"model":"m:0","messages":[{"role":"user","content":"hi"}],"anthropic_version":"vertex-2023-10-16"}',
    );
  });
  it("gives Vertex's count of Gemini the members themselves, wrapped by the client or not", () => {
    const vertex = { ...PLAN, platform: 'VertexPublisher' } as const;
    const path = '/publishers/google/models/m%3A0:countTokens';
    const contents = '{"contents":[{"role":"user","parts":[{"text":"hi"}]}]}';
    assert.equal(count('Gemini', 'Gemini', contents, vertex), `${path} ${contents}`);
    const wrapped = `{"generateContentRequest":{"model":"models/m",${contents.slice(1)}}`;
    assert.equal(count('Gemini', 'Gemini', wrapped, vertex), `${path} ${contents}`);
    assert.equal(count('Anthropic', 'Gemini', messages, vertex), `${path} ${contents}`);
  });
});

describe('chooseBetas', () => {
  it("drops a flag's field of the body, unless another version of the flag stays", () => {
    const header = ' fast-mode-2026-02-01 ,context-management-2099-01-01,context-management-2025-06-27';
    assert.deepEqual(chooseBetas(header, 'BedrockInvoke'), {
      kept: ['context-management-2025-06-27'],
      dropped: ['fast-mode-2026-02-01', 'context-management-2099-01-01'],
      members: ['speed'],
    });
  });
  it('reports nothing for a call without flags', () => {
    assert.deepEqual(chooseBetas(undefined, 'BedrockInvoke'), { kept: [], dropped: [], members: [] });
  });
});
