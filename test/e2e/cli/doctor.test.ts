/** `mgw doctor` on channels that work and channels that fail, each at a fake. */
import assert from 'node:assert/strict';
import { afterAll, afterEach, beforeAll, describe, it } from 'vitest';
import { EMPTY_SNAPSHOT } from '#snapshot/kinds.gen.ts';
import { mgw, tempFolder } from '../../support/cli.ts';
import { startMockProvider } from '../../support/mock-provider.ts';
import type { MockProvider, Reply } from '../../support/mock-provider.ts';
import { anthropicMessage, json, openaiChat } from '../../support/provider-answers.ts';
import { channelOf, modelOf, routeOf } from '../../unit/contract/snapshot/objects.ts';
import { startValkey, valkey } from '../../support/valkey.ts';
import { testDistribution } from '../../unit/operator/xds/support.ts';

let provider: MockProvider;
beforeAll(async () => {
  provider = await startMockProvider();
});
afterAll(() => provider.stop());
afterEach(() => provider.clear());

const manifests = (channels: string, url: string): string => `
apiVersion: v1
kind: Secret
metadata: {name: key}
stringData: {apiKey: provider-key-value}
---
apiVersion: modelgateway.dev/v1alpha1
kind: ModelRoute
metadata: {name: r}
spec:
  models: [{name: m, contextTokens: 1000, maxOutputTokens: 100}, {name: n, contextTokens: 1000, maxOutputTokens: 100}]
  channels:
${channels.replaceAll('URL', url)}
`;
const OPENAI = '  - {name: a, protocol: OpenAI, baseUrl: "URL/v1", auth: {type: ApiKey, secretRef: {name: key}}}';

async function doctor(
  channels: string,
  replies: readonly Reply[],
  flags: readonly string[] = ['--yes'],
): Promise<Awaited<ReturnType<typeof mgw>>> {
  if (replies.length > 0) provider.script(...replies);
  await using folder = await tempFolder({ 'all.yaml': manifests(channels, provider.url) });
  return await mgw(['doctor', '--config', folder.path, ...flags]);
}

describe.skipIf(valkey.skip)('mgw doctor of a shared ledger', () => {
  it('passes one that keeps every key, and names the policy of one that does not', async () => {
    await using server = await startValkey({ settings: [['maxmemory', '100mb']] });
    const examined = async (): Promise<readonly [number | null, string]> => {
      const { exitCode, stdout } = await doctor(OPENAI, [openaiChat()], ['--yes', '--ledger', server.url]);
      return [exitCode, stdout];
    };
    const [passed, clean] = await examined();
    assert.equal(passed, 0, clean);
    await server.command('CONFIG', 'SET', 'maxmemory-policy', 'allkeys-lru');
    const [failed, told] = await examined();
    assert.equal(failed, 1);
    assert.match(told, /evicts keys when its memory is full \(maxmemory-policy allkeys-lru\)/);
  });
  it('asks a store once that refuses to say anything, and is silent where only this command is refused', async () => {
    await using server = await startValkey();
    await server.command('ACL', 'SETUSER', 'reader', 'on', '>word', '~*', '+@all', '-info');
    const { host } = new URL(server.url);
    const as = (user: string): ReturnType<typeof mgw> =>
      doctor(OPENAI, [openaiChat()], ['--yes', '--ledger', `valkey://${user}@${host}`]);
    const [refused, silent] = [await as('nobody:wrong'), await as('reader:word')];
    assert.equal(refused.exitCode, 1);
    assert.match(refused.stdout, /The ledger's store cannot be asked: WRONGPASS/);
    assert.equal(silent.exitCode, 0, silent.stdout);
  });
  it('says that a ledger in a file is not examined', async () => {
    const { exitCode, stdout } = await doctor(OPENAI, [openaiChat()], ['--yes', '--ledger', 'file:/data']);
    assert.equal(exitCode, 1);
    assert.match(stdout, /Only a shared ledger can be tested/);
  });
  it('says that a store cannot be reached', async () => {
    const { exitCode, stdout } = await doctor(OPENAI, [openaiChat()], ['--yes', '--ledger', 'valkey://127.0.0.1:1']);
    assert.equal(exitCode, 1);
    assert.match(stdout, /The ledger's store cannot be asked: /);
  });
});

describe('mgw doctor', () => {
  it('passes a channel that works, with a call of one token', async () => {
    const { exitCode, stdout, stderr } = await doctor(OPENAI, [openaiChat()]);
    assert.equal(exitCode, 0);
    assert.match(stdout, /^CHANNEL +MODEL +ASKED +RESULT +DETAILS\nr\/a +m +call +ok +serves\n$/);
    assert.match(stderr, /^Sends 1 request: 0 to count[^]*1 call with/);
    const [sent] = provider.requests;
    assert.deepEqual(
      [sent?.path, sent?.headers.authorization, sent?.json()['max_completion_tokens']],
      ['/v1/chat/completions', 'Bearer provider-key-value', 1],
    );
  });
  it('counts tokens if that is free, and calls a model whose tokens cannot be counted', async () => {
    const channel = '  - {name: a, protocol: Anthropic, baseUrl: "URL"}';
    assert.match((await doctor(channel, [json({ input_tokens: 8 })])).stdout, /r\/a +m +count +ok/);
    assert.deepEqual(
      provider.requests.map(({ path }) => path),
      ['/v1/messages/count_tokens'],
    );
    provider.clear();
    const { stdout } = await doctor(channel, [json({}, { status: 404 }), anthropicMessage()]);
    assert.match(stdout, /r\/a +m +call +ok/);
    assert.equal(provider.requests[1]?.json()['max_tokens'], 1);
  });
  it('calls each model on request, or one route only', async () => {
    await doctor(OPENAI, [openaiChat()], ['--yes', '--all-models']);
    assert.deepEqual(
      provider.requests.map((sent) => sent.json()['model']),
      ['m', 'n'],
    );
    provider.clear();
    const { exitCode } = await doctor(OPENAI, [], ['--yes', '--only', 'other']);
    assert.deepEqual([exitCode, provider.requests.length], [0, 0]);
  });
  it('reports problems as a table and as JSON, without any secret', async () => {
    for (const [reply, problem] of [
      [json({ error: { message: 'Incorrect API key provided: provider-key-value' } }, { status: 401 }), 'Credential'],
      [json({ error: { message: 'The model `m` does not exist', code: 'model_not_found' } }, { status: 404 }), 'Model'],
      [json({ message: 'Credential should be scoped to a valid region.' }, { status: 403 }), 'Region'],
      [{ status: 302, headers: { location: 'https://elsewhere' }, steps: [] }, 'Address'],
      [{ headers: { 'content-type': 'text/html' }, steps: ['<html>'] }, 'Address'],
      [json({ message: 'invalid beta flag' }, { status: 400 }), 'Betas'],
    ] as const) {
      provider.clear();
      const { exitCode, stdout, stderr } = await doctor(OPENAI, [reply], ['--yes', '--json']);
      const { channels } = JSON.parse(stdout) as { channels: { problem: string; channel: string }[] };
      assert.deepEqual([exitCode, channels[0]?.channel, channels[0]?.problem], [1, 'r/a', problem]);
      assert.ok(!(stdout + stderr).includes('provider-key-value'));
    }
  });
  it('reports a token service that refuses, an address without a server, and a missing Secret', async () => {
    provider.script(json({ error: 'invalid_client' }, { status: 401 }));
    const { exitCode, stdout } = await doctor(
      `
  - name: entra
    protocol: OpenAI
    baseUrl: URL/v1
    auth:
      type: AzureEntra
      secretRef: {name: key}
      azure: {tenantId: t, clientId: c, authority: "URL"}
  - {name: nobody, protocol: OpenAI, baseUrl: "http://127.0.0.1:1/v1"}
  - {name: secretless, protocol: OpenAI, baseUrl: "URL/v1", auth: {type: ApiKey, secretRef: {name: none}}}`,
      [],
    );
    assert.equal(exitCode, 1);
    assert.match(stdout, /r\/entra +m +call +Credential +no token \(invalid_client\)/);
    assert.match(stdout, /r\/nobody +m +call +Address +no connection \(ECONNREFUSED\)/);
    assert.match(stdout, /ModelRoute r: Channel "secretless" is ignored/);
  });
  it('spends nothing without consent', async () => {
    const { exitCode, stderr } = await doctor(OPENAI, [openaiChat()], []);
    assert.equal(exitCode, 1);
    assert.match(stderr, /pass --yes/);
    assert.equal(provider.requests.length, 0);
  });
  it('gets the channels from an operator, which does not count it as a proxy', async () => {
    await using server = await testDistribution();
    const routes = [routeOf('r', [modelOf('m')], [channelOf('a', { baseUrl: `${provider.url}/v1` })])];
    server.publish({ ...EMPTY_SNAPSHOT, routes });
    provider.script(openaiChat());
    let most = 0;
    const watching = setInterval(() => {
      most = Math.max(most, server.figures().connectedProxies);
    }, 1);
    const { exitCode, stdout } = await mgw(['doctor', '--insecure-xds', '--xds', `127.0.0.1:${server.port}`, '--yes']);
    clearInterval(watching);
    assert.match(stdout, /r\/a +m +call +ok +serves/);
    assert.deepEqual([exitCode, most], [0, 0]);
  });
  it('asks for the source of the channels', async () => {
    const { exitCode, stderr } = await mgw(['doctor', '--yes']);
    assert.equal(exitCode, 64);
    assert.match(stderr, /pass --config DIR, or --xds HOST:PORT/);
  });
  it("passes when the provider's rate limit is reached", async () => {
    const { exitCode, stdout } = await doctor(OPENAI, [json({ error: { message: 'slow down' } }, { status: 429 })]);
    assert.deepEqual([exitCode, /RateLimited/.test(stdout)], [0, true]);
  });
});
