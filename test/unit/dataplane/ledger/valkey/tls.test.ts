/** TLS, users and passwords; and ledgers' URLs. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, describe, test } from 'vitest';
import { LedgerUnavailable } from '#ledger/spending.ts';
import { openValkeyLedger } from '../../../../../dataplane/ledger/valkey.ts';
import { openValkeyReader } from '../../../../../dataplane/ledger/valkey-reader.ts';
import { describeLocation, parseValkeyUrl } from '../../../../../dataplane/ledger/valkey/location.ts';
import { need } from '../../../../support/needs.ts';
import { freePort } from '../../../../support/free-port.ts';
import { startValkey, valkey } from '../../../../support/valkey.ts';
import { holdRequest, settlement } from '../calls.ts';
import { HELD } from '../contract-scenario.ts';

const PASSWORD = 'a word/with: everything@';

const openssl = await need('openssl');

/** A self-signed certificate for 127.0.0.1. */
async function certificates(folder: string): Promise<{ ca: string; cert: string; key: string }> {
  const [cert, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
  await promisify(execFile)(openssl.path, [
    'req',
    '-x509',
    '-newkey',
    'ec',
    '-pkeyopt',
    'ec_paramgen_curve:P-256',
    '-nodes',
    '-days',
    '1',
    '-subj',
    '/CN=ledger',
    '-addext',
    'subjectAltName=IP:127.0.0.1',
    '-keyout',
    key,
    '-out',
    cert,
  ]);
  return { ca: cert, cert, key };
}

describe.skipIf(valkey.skip || openssl.skip)('a server with TLS and users', async () => {
  if (valkey.skip || openssl.skip) return;
  const folder = await mkdtemp(join(tmpdir(), 'mgw-tls-'));
  const files = await certificates(folder);
  const tlsPort = await freePort();
  const server = await startValkey({
    tls: {
      port: tlsPort,
      ...files,
    },
    credentials: { username: 'default', password: PASSWORD },
    settings: [['requirepass', PASSWORD]],
  });
  await server.command('ACL', 'SETUSER', 'gateway', 'on', `>${PASSWORD}`, '~{mgw*', '+@all', '-@dangerous', '-@admin');
  await server.command(
    'ACL',
    'SETUSER',
    'operator',
    'on',
    '>reads',
    '%R~{mgw*',
    '+@read',
    '+@connection',
    '+eval_ro',
    '+evalsha_ro',
    '+time',
  );
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
    await rm(folder, { recursive: true });
  });
  const urlFor = (credentials: string, query = ''): string =>
    `valkeys://${credentials}@127.0.0.1:${tlsPort}/0?ca-file=${files.ca}${query}`;

  test("gives the gateway's user the rights that it needs, and a reader only read rights", async () => {
    const url = urlFor(`gateway:${encodeURIComponent(PASSWORD)}`);
    const ledger = await openValkeyLedger({ url, over: { refillMs: 0 } });
    assert.deepEqual(await ledger.admit(holdRequest('a', 10n)), HELD(10n));
    assert.equal((await ledger.settle(settlement('a', 5n))).record.costNanoUsd, 5n);
    const reader = openValkeyReader(urlFor('operator:reads'));
    assert.deepEqual(await reader.readAccount('team-a/team-a'), { spentNanoUsd: 5n, heldNanoUsd: 0n });
    assert.equal((await Array.fromAsync(reader.records({}))).length, 1);
    reader.close();
    await ledger.close();
  });

  test('reads the password from a file', async () => {
    const path = join(folder, 'password');
    await writeFile(path, `${PASSWORD}\n`);
    const ledger = await openValkeyLedger({
      url: urlFor('gateway:', `&password-file=${path}&prefix=mgw-file`),
      over: { refillMs: 0 },
    });
    assert.deepEqual(await ledger.admit(holdRequest('a', 10n)), HELD(10n));
    await ledger.close();
  });

  for (const [what, url, words] of [
    ['a wrong password', urlFor('gateway:secret'), /WRONGPASS/],
    ['an authority that nobody trusts', urlFor('gateway:secret').replace(/\?ca-file=[^&]+/, ''), /self.signed/],
  ] as const) {
    // both wait for the server's full timeout
    test.concurrent(`${what}: is refused with a message that has no password`, async () => {
      const ledger = await openValkeyLedger({ url });
      const { ok, reason } = ledger.health?.() ?? { ok: true, reason: '' };
      assert.equal(ok, false);
      assert.match(reason, words);
      assert.doesNotMatch(reason, /secret/);
      await assert.rejects(ledger.admit(holdRequest('a', 10n)), LedgerUnavailable);
      await ledger.close();
    });
  }
});

describe("a ledger's URL", () => {
  test('contains address, user and options', () => {
    const { passwordFile, caFile, ...said } = parseValkeyUrl(
      'valkeys://me:p%40ss%2Fword@[::1]:7000/3?prefix=prod&wait=1&records=5&timeout-ms=800',
    );
    assert.deepEqual(said, {
      hosts: [{ host: '::1', port: 7000 }],
      tls: true,
      cluster: false,
      username: 'me',
      password: 'p@ss/word',
      database: 3,
      prefix: 'prod',
      wait: 1,
      records: 5,
      timeoutMs: 800,
    });
    assert.deepEqual([passwordFile, caFile], [undefined, undefined]);
    assert.equal(parseValkeyUrl('redis://host').timeoutMs, 200);
    assert.deepEqual(parseValkeyUrl('redis://host').hosts, [{ host: 'host', port: 6379 }]);
    assert.equal(parseValkeyUrl('valkey://a:1,b:2').cluster, true);
    assert.equal(parseValkeyUrl('valkey://a:1?cluster=true').cluster, true);
  });
  test('is shown without its password', () => {
    assert.equal(describeLocation(parseValkeyUrl('valkeys://me:word@host:7000/3')), 'valkeys://host:7000/3');
    assert.equal(describeLocation(parseValkeyUrl('valkey://me:word@a,b')), 'valkey://a:6379,b:6379 (Cluster)');
  });
  test('with a mistake is refused with a message', () => {
    for (const url of [
      'valkey://',
      'valkey://host:port',
      'valkey://host:99999',
      'valkey://host/x',
      'valkey://host?cluster=true&what=1',
      'valkey://a,b/1',
      'valkey://host?prefix={x}',
      'valkey://host?wait=-1',
      'valkey://host?timeout-ms=49',
      'valkey://host?timeout-ms=2001',
      'valkey://host?timeout-ms=1s',
    ])
      assert.throws(
        () => parseValkeyUrl(url),
        (error: Error) => error.message.length > 20 && !(error instanceof TypeError),
        url,
      );
  });
});
