/** `mgw operator --console`: replicas share the key of their sessions, and a new key ends all sessions. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { createAuthority, issueServing } from '../../../operator/security/certificate-authority.ts';
import { kubeApiserverMissing } from '../../support/kube-apiserver.ts';
import { freePort } from '../../support/free-port.ts';
import { SCENE, startCluster, teamManifest, until } from './support.ts';
import type { Cluster } from './support.ts';

const missing = await kubeApiserverMissing();
const ROOT = join(import.meta.dirname, '../../..');
const SECRETS = '/api/v1/namespaces/model-gateway/secrets';

interface Replica {
  readonly child: ChildProcess;
  readonly console: number;
  readonly output: readonly string[];
}

describe.skipIf(missing)('mgw operator --console', () => {
  let cluster: Cluster;
  const replicas: Replica[] = [];
  beforeAll(async () => {
    cluster = await startCluster();
    await cluster.apply(SCENE);
  });
  afterAll(async () => {
    for (const { child } of replicas) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      const exited = once(child, 'exit');
      child.kill('SIGTERM');
      await exited;
    }
    await cluster?.stop();
  });

  function run(web: number, [xds, admin]: readonly number[], args: readonly string[]): Replica {
    const child = spawn(
      process.execPath,
      [
        'bin/mgw.js',
        'operator',
        '--kubeconfig',
        cluster.kubeconfig,
        '--xds-listen',
        `127.0.0.1:${xds}`,
        '--xds-name',
        'localhost',
        '--admin',
        `127.0.0.1:${admin}`,
        '--console',
        `127.0.0.1:${web}`,
        ...args,
      ],
      { cwd: ROOT, stdio: ['ignore', 'pipe', 'pipe'] },
    );
    const output: string[] = [];
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => output.push(String(chunk)));
    const replica = { child, console: web, output };
    replicas.push(replica);
    return replica;
  }

  async function start(): Promise<Replica> {
    const [web, xds, admin] = [await freePort(), await freePort(), await freePort()];
    const replica = run(web, [xds, admin], []);
    await until(
      'the sign-in page',
      () =>
        fetch(`http://127.0.0.1:${web}/sign-in`).then(
          ({ status }) => status,
          () => replica.output.join(''),
        ),
      (status) => status === 200,
    );
    return replica;
  }

  async function signIn(
    { console: port }: Replica,
    token: string,
  ): Promise<{ readonly status: number; readonly cookie: string }> {
    const answer = await fetch(`http://localhost:${port}/sign-in`, {
      method: 'POST',
      redirect: 'manual',
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        origin: `http://localhost:${port}`,
      },
      body: new URLSearchParams({ token, next: '/' }).toString(),
    });
    await answer.text();
    return {
      status: answer.status,
      cookie: answer.headers
        .getSetCookie()
        .map((each) => each.split(';')[0] ?? '')
        .filter((each) => !each.endsWith('='))
        .join('; '),
    };
  }

  /** 200 if the start page shows the overview, else the target of its redirect: the sign-in. */
  const startOf = async ({ console: port }: Replica, cookie: string): Promise<string> => {
    const answer = await fetch(`http://localhost:${port}/`, { headers: { cookie }, redirect: 'manual' });
    await answer.text();
    return answer.headers.get('location') ?? String(answer.status);
  };

  it('accepts a session of another replica, until the sealing key changes', async () => {
    const first = await start();
    const second = await start();
    assert.equal((await signIn(first, 'nobody')).status, 422);
    const { status, cookie } = await signIn(first, cluster.server.token);
    assert.equal(status, 303);
    assert.ok(!cookie.includes(cluster.server.token));
    // cookies of plain http differ by port, so this test's browser carries them over
    const atSecond = cookie.replaceAll(`-${first.console}`, `-${second.console}`);
    assert.deepEqual([await startOf(first, cookie), await startOf(second, atSecond)], ['200', '200']);
    const { body } = await cluster.admin.call('GET', `${SECRETS}/model-gateway-console`);
    const key = Buffer.from(body.data.sealingKey, 'base64').toString();
    await cluster.admin.call('DELETE', `${SECRETS}/model-gateway-console`);
    for (const [replica, held] of [
      [first, cookie],
      [second, atSecond],
    ] as const)
      await until(
        'signed out',
        () => startOf(replica, held).catch(() => 'not there'),
        (place) => place.startsWith('/sign-in'),
      );
    const again = await cluster.admin.call('GET', `${SECRETS}/model-gateway-console`);
    assert.notEqual(again.body.data.sealingKey, body.data.sealingKey);
    assert.equal((await signIn(second, cluster.server.token)).status, 303);
    for (const { output } of replicas)
      assert.ok(!output.join('').includes(cluster.server.token) && !output.join('').includes(key));
  });

  it('signs out at all replicas, including those that start later', async () => {
    const [first, second] = replicas;
    assert.ok(first && second);
    const at = ({ console: port }: Replica, cookie: string): string =>
      cookie.replaceAll(`-${first.console}`, `-${port}`);
    const [{ cookie }, { cookie: other }] = [
      await signIn(first, cluster.server.token),
      await signIn(first, cluster.server.token),
    ];
    assert.deepEqual(
      [await startOf(second, at(second, cookie)), await startOf(second, at(second, other))],
      ['200', '200'],
    );
    const origin = `http://localhost:${first.console}`;
    const csrf =
      /name="csrf" value="([^"]+)"/.exec(await (await fetch(`${origin}/keys`, { headers: { cookie } })).text())?.[1] ??
      '';
    const answer = await fetch(`${origin}/sign-out`, {
      method: 'POST',
      redirect: 'manual',
      headers: {
        cookie,
        origin,
        'content-type': 'application/x-www-form-urlencoded',
      },
      body: new URLSearchParams({ csrf }).toString(),
    });
    await answer.text();
    assert.equal(answer.headers.get('location'), '/sign-in?why=out');
    await until(
      'signed out at the other',
      () => startOf(second, at(second, cookie)),
      (place) => place.startsWith('/sign-in'),
    );
    const third = await start();
    for (const replica of [first, second, third]) {
      assert.match(await startOf(replica, at(replica, cookie)), /^\/sign-in/);
      assert.equal(await startOf(replica, at(replica, other)), '200');
    }
    const { body } = await cluster.admin.call('GET', `${SECRETS}/model-gateway-console-memory`);
    const kept = Buffer.from(body.data.signedOut, 'base64').toString();
    assert.ok(kept.length < 200 && !kept.includes(cluster.server.token), kept);
  });

  it('admits a key made while the operator runs, and no longer the key it replaced', async () => {
    const [replica] = replicas;
    assert.ok(replica);
    const keyOtherThan = async (before: string): Promise<string> =>
      until(
        'the key',
        async () => {
          const secret = await cluster.get('Secret', 'team-b', 'ci-key');
          return Buffer.from(secret?.data.apiKey ?? '', 'base64').toString();
        },
        (key) => key !== '' && key !== before,
      );
    const answers = (key: string, wanted: number): Promise<number> =>
      until(
        'the sign-in',
        async () => (await signIn(replica, key)).status,
        (status) => status === wanted,
      );
    await cluster.apply(teamManifest('team-b'));
    const key = await keyOtherThan('');
    await answers(key, 303);
    await cluster.apply(teamManifest('team-b', 'key: {rotation: 2, overlapSeconds: 0}'));
    await answers(await keyOtherThan(key), 303);
    await answers(key, 422);
  });

  it('serves TLS with its own certificate; ignores a Secret without a key, which does not block shutdown', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'mgw-console-tls-'));
    const nowMs = Date.now();
    const authority = await createAuthority(nowMs, 86_400_000);
    const { certificate, key } = await issueServing(authority, ['localhost'], {
      fromMs: nowMs,
      untilMs: nowMs + 86_400_000,
    });
    await writeFile(join(folder, 'tls.crt'), certificate);
    await writeFile(join(folder, 'tls.key'), key, { mode: 0o600 });
    try {
      const encrypted = run(await freePort(), [await freePort(), await freePort()], ['--console-tls', folder]);
      const get = (): Promise<string> =>
        new Promise((resolve) => {
          request(
            {
              host: '127.0.0.1',
              port: encrypted.console,
              path: '/sign-in',
              servername: 'localhost',
              ca: authority.certificate,
              agent: false,
            },
            (answer) => {
              answer.resume();
              resolve(String(answer.statusCode));
            },
          )
            .on('error', ({ message }) => resolve(message))
            .end();
        });
      await until('the sign-in page', get, (status) => status === '200');
      await cluster.admin.call('PUT', `${SECRETS}/model-gateway-console`, {
        metadata: { name: 'model-gateway-console' },
        stringData: { sealingKey: 'short' },
      });
      const keyless = run(await freePort(), [await freePort(), await freePort()], []);
      await until(
        'what is wrong',
        () => keyless.output.join(''),
        (text) => /is no key; delete the Secret/.test(text),
      );
      assert.equal(await get(), '200'); // who has a key goes on with it
      for (const { child } of [keyless, encrypted]) {
        const exited = once(child, 'exit');
        child.kill('SIGTERM');
        assert.deepEqual(await exited, [0, null]);
      }
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});
