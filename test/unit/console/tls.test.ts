/** The console with a certificate of its own. */
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, it } from 'vitest';
import { openTls } from '../../../console/tls.ts';
import { createAuthority, issueServing } from '../../../operator/security/certificate-authority.ts';

const NOW_MS = Date.now();
const YEAR_MS = 365 * 86_400_000;
const authority = await createAuthority(NOW_MS, YEAR_MS);

describe('TLS of the console', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'mgw-tls-'));
  afterAll(() => rm(folder, { recursive: true, force: true }));

  async function renew(name: string): Promise<void> {
    const { certificate, key } = await issueServing(authority, [name], { fromMs: NOW_MS, untilMs: NOW_MS + YEAR_MS });
    await writeFile(join(folder, 'tls.crt'), certificate);
    await writeFile(join(folder, 'tls.key'), key, { mode: 0o600 });
  }

  const get = (port: number, servername: string): Promise<string> =>
    new Promise((resolve, reject) => {
      request({ host: '127.0.0.1', port, servername, ca: authority.certificate, agent: false }, (answer) => {
        answer.setEncoding('utf8').on('data', resolve);
      })
        .on('error', reject)
        .end();
    });

  it('needs a certificate, and uses a renewed one without a restart', async () => {
    const told: unknown[] = [];
    const note = (...line: unknown[]): void => void told.push(line);
    const log = { info: note, error: note };
    let look = (): void => assert.fail('nothing is looked at again');
    const after = (_ms: number, run: () => void) => {
      look = run;
      return () => undefined;
    };
    await assert.rejects(openTls(folder, { after, log }), /tls\.crt/);
    await renew('one.test');
    const tls = await openTls(folder, { after, log });
    const server = tls.serverFactory((_request, answer) => void answer.end('here'));
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve);
    });
    try {
      const { port } = server.address() as AddressInfo;
      assert.equal(await get(port, 'one.test'), 'here');
      await renew('two.test');
      await lookAgain(look, told);
      assert.equal(await get(port, 'two.test'), 'here');
      await assert.rejects(get(port, 'one.test'));
      await rm(join(folder, 'tls.crt'));
      await lookAgain(look, told);
      assert.equal(await get(port, 'two.test'), 'here');
    } finally {
      tls.stop();
      await new Promise((resolve) => {
        server.close(resolve);
      });
    }
  });
});

/** Resolves when it has logged its result. */
async function lookAgain(look: () => void, told: readonly unknown[]): Promise<void> {
  const before = told.length;
  look();
  while (told.length === before)
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
}
