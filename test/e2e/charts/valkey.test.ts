/** The bundled Valkey's start as in its container, with a real server: password, persistence and refusals. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createClient } from '@redis/client';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { until } from '../cluster/support.ts';
import { needHelm } from '../../support/helm.ts';
import { freePort } from '../../support/free-port.ts';
import { need } from '../../support/needs.ts';
import { TESTDATA, renderAll } from './situations.ts';

const helm = await needHelm();
const valkey = await need('valkey');
const PASSWORD = 'correct-horse-battery-staple';

for (const [situation, tls] of [
  ['defaults', false],
  ['valkey-tls', true],
] as const)
  describe.skipIf(helm.skip || valkey.skip)(`the bundled Valkey: ${situation}`, () => {
    let folder: string;
    let port: number;
    let server: ReturnType<typeof spawn>;

    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), 'mgw-valkey-'));
      port = await freePort();
      const valuesFile = join(TESTDATA, `${situation}.values.yaml`);
      const objects = await renderAll(helm, { name: situation, valuesFile, only: [] });
      const { command, args } = objects.find(({ kind }) => kind === 'StatefulSet').spec.template.spec.containers[0] as {
        command: string[];
        args: string[];
      };
      for (const name of ['secret', 'tls', 'run', 'data', 'bin']) await mkdir(join(folder, name));
      const made = objects.find(
        ({ kind, metadata }) => kind === 'Secret' && metadata.name === 'model-gateway-valkey-tls',
      );
      assert.equal(made !== undefined, tls);
      for (const [name, content] of Object.entries<string>(made?.data ?? {}))
        await writeFile(join(folder, 'tls', name), Buffer.from(content, 'base64'));
      await writeFile(join(folder, 'secret/password'), PASSWORD);
      await symlink(valkey.path, join(folder, 'bin/valkey-server'));
      const here = (text: string): string =>
        text
          .replaceAll('/var/run/secrets/modelgateway.dev/ledger', join(folder, 'secret'))
          .replaceAll('/var/run/secrets/modelgateway.dev/valkey-tls', join(folder, 'tls'))
          .replaceAll('/run/valkey', join(folder, 'run'))
          .replace(/^\/data$/, join(folder, 'data'));
      const [program = '', ...rest] = [...command, ...args].map(here);
      server = spawn(program, [...rest, tls ? '--tls-port' : '--port', String(port), '--bind', '127.0.0.1'], {
        stdio: 'ignore',
        env: { PATH: `${join(folder, 'bin')}:${process.env['PATH']}` },
      });
      await until(
        'it answers',
        () => ask(PASSWORD, ['PING']).catch(String),
        (answer) => answer === 'PONG',
      );
    });
    afterAll(async () => {
      const ended = once(server, 'exit');
      server.kill('SIGTERM');
      await ended;
      await rm(folder, { recursive: true, force: true });
    });

    async function ask(password: string | undefined, command: readonly string[]): Promise<unknown> {
      const client = createClient({
        socket: {
          host: '127.0.0.1',
          port,
          reconnectStrategy: false,
          ...(tls && {
            tls,
            ca: await readFile(join(folder, 'tls/ca.crt')),
            servername: 'model-gateway-valkey.model-gateway.svc',
          }),
        },
        ...(password !== undefined && { password }),
      });
      client.on('error', () => {
        /* the command below is rejected */
      });
      try {
        await client.connect();
        return await client.sendCommand([...command]);
      } finally {
        client.destroy();
      }
    }

    it('keeps what it acknowledges, and evicts nothing', async () => {
      for (const [name = '', value] of [
        ['appendonly', 'yes'],
        ['appendfsync', 'always'],
        ['save', ''],
        ['maxmemory-policy', 'noeviction'],
        ['dir', join(folder, 'data')],
      ])
        assert.deepEqual(Object.values((await ask(PASSWORD, ['CONFIG', 'GET', name])) as object).at(-1), value, name);
    });

    if (tls)
      it('refuses connections without TLS, and its certificate is trusted by its own CA only', async () => {
        const plain = createClient({ url: `redis://127.0.0.1:${port}`, socket: { reconnectStrategy: false } });
        plain.on('error', () => {
          /* it is rejected */
        });
        await assert.rejects(plain.connect());
        const trusting = createClient({ url: `rediss://127.0.0.1:${port}`, socket: { reconnectStrategy: false } });
        trusting.on('error', () => {
          /* it is rejected */
        });
        await assert.rejects(trusting.connect(), /certificate/);
      });

    it('refuses clients without the password', async () => {
      await assert.rejects(ask(undefined, ['PING']), /NOAUTH/);
      await assert.rejects(ask('wrong', ['PING']), /WRONGPASS/);
    });

    it("is the container's first process, so it gets SIGTERM", () => {
      assert.equal(server.exitCode, null);
      assert.ok(server.spawnargs.every((argument) => !argument.includes(PASSWORD)));
    });
  });
