/** A process without a configuration asks clients to retry, and never calls a key unknown. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { it } from 'vitest';
import { EMPTY_SNAPSHOT } from '#snapshot/kinds.gen.ts';
import { openEmbeddedLedger } from '../../../dataplane/ledger/embedded.ts';
import { startDataplane } from '../../../programs/dataplane.ts';

it('returns 503 in the dialect of the path until a configuration is in force', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'mgw-not-ready-'));
  const ledger = await openEmbeddedLedger({ path: join(folder, 'ledger.sqlite') });
  const at = { host: '127.0.0.1', port: 0 };
  const dataplane = await startDataplane({
    listen: at,
    admin: at,
    ledger,
    log: pino({ level: 'silent' }),
    maxBodyBytes: 1000,
    version: 'test',
  });
  try {
    const call = (path: string): Promise<Response> =>
      fetch(`http://127.0.0.1:${dataplane.port}${path}`, {
        method: 'POST',
        headers: { 'x-api-key': 'sk-anything' },
        body: '{}',
      });
    const openai = await call('/v1/chat/completions');
    assert.equal(openai.status, 503);
    assert.equal(openai.headers.get('retry-after'), '1');
    const { error } = (await openai.json()) as { error: { code: string } };
    assert.equal(error.code, 'not_ready');
    const anthropic = (await (await call('/v1/messages')).json()) as { type: string; error: { type: string } };
    assert.deepEqual([anthropic.type, anthropic.error.type], ['error', 'api_error']);
    assert.equal((await fetch(`http://127.0.0.1:${dataplane.adminPort}/readyz`)).status, 503);
    dataplane.apply(EMPTY_SNAPSHOT);
    assert.equal((await call('/v1/chat/completions')).status, 401);
    assert.equal((await fetch(`http://127.0.0.1:${dataplane.adminPort}/readyz`)).status, 200);
  } finally {
    await dataplane.drain();
    await ledger.close();
    await rm(folder, { recursive: true });
  }
});
