import assert from 'node:assert/strict';
import cookie from '@fastify/cookie';
import { fastify } from 'fastify';
import { describe, it } from 'vitest';
import { dropLastChoice, readLastChoice, writeLastChoice } from '../../../../console/session/last-choice.ts';

const CHOICE = { namespace: 'team', account: 'wallet', group: 'standard' };
const ANN = { person: 'ann', basePath: '' };

async function visit(
  headers: Readonly<Record<string, string>>,
  basePath = '',
): Promise<{ readonly written: readonly string[]; readonly read: unknown; readonly dropped: readonly string[] }> {
  const app = fastify();
  await app.register(cookie);
  app.post('/write', (request, reply) => {
    writeLastChoice({ request, reply }, CHOICE, { ...ANN, basePath });
    return reply.send();
  });
  app.get('/read', (request) => ({ read: readLastChoice(request, { ...ANN, basePath }) ?? 'none' }));
  app.post('/drop', (request, reply) => {
    dropLastChoice({ request, reply }, basePath);
    return reply.send();
  });
  const setBy = (answer: { readonly headers: Readonly<Record<string, unknown>> }): string[] =>
    [answer.headers['set-cookie'] ?? []].flat().map(String);
  const written = setBy(await app.inject({ method: 'POST', url: '/write', headers }));
  const sent = { ...headers, cookie: written.map((each) => each.split(';', 1)[0]).join('; ') };
  const { read } = (await app.inject({ url: '/read', headers: sent })).json<{ readonly read: unknown }>();
  const dropped = setBy(await app.inject({ method: 'POST', url: '/drop', headers: sent }));
  await app.close();
  return { written, read, dropped };
}

describe('the last choice for a key', () => {
  it('is kept for https alone where people come by https, also behind a proxy that ends TLS', async () => {
    const { written, read, dropped } = await visit({ host: 'console.test', origin: 'https://console.test' });
    assert.match(written[0] ?? '', /^__Host-mgw-console-last-key=.*; Path=\/; HttpOnly; Secure; SameSite=Strict$/);
    assert.deepEqual(read, CHOICE);
    assert.match(dropped[0] ?? '', /^__Host-mgw-console-last-key=; Max-Age=0;/);
  });
  it('is kept below the path of the console', async () => {
    const { written } = await visit({ host: 'a.test', origin: 'https://a.test' }, '/llm/console');
    assert.match(written[0] ?? '', /^__Secure-mgw-console-last-key-llm\.console=.*; Path=\/llm\/console;/);
  });
  it('is kept for each port of this machine', async () => {
    const { written, read } = await visit({ host: '127.0.0.1:4001', origin: 'http://127.0.0.1:4001' });
    assert.match(written[0] ?? '', /^mgw-console-last-key-4001=/);
    assert.doesNotMatch(written[0] ?? '', /Secure/);
    assert.deepEqual(read, CHOICE);
  });
  it('is not kept over plain http from another machine', async () => {
    const { written, read, dropped } = await visit({ host: 'a.test', origin: 'http://a.test' });
    assert.deepEqual([written, read, dropped], [[], 'none', []]);
  });
});
