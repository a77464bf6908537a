/** The signing libraries are loaded with the first channel that needs them, and not earlier. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { startMockProvider } from '../../../../support/mock-provider.ts';
import type { MockProvider } from '../../../../support/mock-provider.ts';
import { openaiChat } from '../../../../support/provider-answers.ts';

const ROOT = join(import.meta.dirname, '../../../../..');
/** Starts the data plane, makes one call, and prints the loaded modules of these packages. */
const script = (url: string, signIn: string): string => `
import { registerHooks } from 'node:module';
const loaded = new Set();
registerHooks({ load(url, context, next) { loaded.add(url); return next(url, context); } });
await import('./dataplane/main.ts');
const { createUpstreams } = await import('./dataplane/upstream/client.ts');
const { allowHeaders } = await import('./dataplane/upstream/headers.ts');
const { SecretValue } = await import('./dataplane/upstream/upstream.ts');
const upstreams = createUpstreams();
const { body } = await upstreams.send({
  id: 'r/c', protocol: 'OpenAI', baseUrl: ${JSON.stringify(url)}, endpoints: new Set(['Chat']), credential: undefined,
  signIn: ${signIn}, defaultHeaders: {}, clientHeaders: allowHeaders([]),
  timeouts: { connectMs: 5000, firstByteMs: 5000, wholeMs: 5000, idleMs: 5000 },
}, {
  method: 'POST', path: '/x', headers: {}, body: Buffer.from('{}'), stream: false, signal: new AbortController().signal,
});
for await (const piece of body);
await upstreams.close();
const packages = /node_modules\\/(@smithy\\/[^/]+|@aws-sdk|@aws-crypto|@azure|google-auth-library)/;
const names = [...loaded].flatMap((url) => packages.exec(url)?.[1] ?? []);
console.log(JSON.stringify([...new Set(names)].sort()));
`;

describe('the libraries that sign', () => {
  let provider: MockProvider;
  beforeAll(async () => {
    provider = await startMockProvider();
    provider.script(openaiChat());
  });
  afterAll(() => provider.stop());

  const loadedWith = async (signIn: string): Promise<readonly string[]> => {
    const { stdout } = await promisify(execFile)(
      process.execPath, ['--input-type=module', '--eval', script(provider.url, signIn)], { cwd: ROOT },
    );
    return JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as string[];
  };

  it('are not loaded without a channel that signs', async () => {
    assert.deepEqual(await loadedWith('undefined'), []);
  });
  it('are loaded with the first one, and no cloud\'s own library is', async () => {
    const key = `new SecretValue('{"accessKeyId":"a","secretAccessKey":"b"}')`;
    const loaded = await loadedWith(`{ way: 'AwsSigV4', region: 'r', service: 's', credential: ${key} }`);
    assert.ok(loaded.includes('@smithy/signature-v4'));
    assert.ok(loaded.every((name) => name.startsWith('@smithy/')), loaded.join());
  });
});
