/** Requests as a person: with their token, and nothing of the operator's. */
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TLSSocket } from 'node:tls';
import { describe, it } from 'vitest';
import { openAccess } from '#kube/access.ts';
import { createKubeClient } from '#kube/client.ts';
import { createAuthority, issueServing } from '../../../operator/security/certificate-authority.ts';

const NOW_MS = Date.now();
const LIFE = { fromMs: NOW_MS, untilMs: NOW_MS + 86_400_000 };
const METER = { add: () => undefined, set: () => undefined, observe: () => undefined };

interface Seen {
  readonly client: string;
  readonly authorization: string | undefined;
  readonly headers: readonly string[];
}

describe('requests to the API server as a person', () => {
  for (const [own, user] of [
    [
      'a client certificate',
      (pair: { certificate: string; key: string }) => ({
        'client-certificate-data': encoded(pair.certificate),
        'client-key-data': encoded(pair.key),
      }),
    ],
    ['a token, and another user to act for', () => ({ token: 'operators-own', as: 'cluster-admin' })],
  ] as const) {
    it(`contain nothing of an operator that has ${own}`, async () => {
      const authority = await createAuthority(NOW_MS, 86_400_000);
      const [serving, clients] = [
        await issueServing(authority, ['localhost'], LIFE),
        await issueServing(authority, ['operator'], LIFE),
      ];
      const seen: Seen[] = [];
      let status = 200;
      const server = createServer(
        {
          cert: serving.certificate,
          key: serving.key,
          ca: authority.certificate,
          requestCert: true,
          rejectUnauthorized: false,
        },
        (request, answer) => {
          seen.push({
            client: commonName(request),
            authorization: request.headers.authorization,
            headers: Object.keys(request.headers).filter((name) => /impersonate|remote/.test(name)),
          });
          answer.writeHead(status, { 'content-type': 'application/json' }).end('{}');
        },
      );
      const folder = await mkdtemp(join(tmpdir(), 'mgw-as-'));
      await new Promise<void>((resolve) => {
        server.listen(0, '127.0.0.1', resolve);
      });
      const { port } = server.address() as AddressInfo;
      const kubeconfig = join(folder, 'kubeconfig');
      await writeFile(
        kubeconfig,
        JSON.stringify({
          apiVersion: 'v1',
          kind: 'Config',
          'current-context': 'c',
          contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
          clusters: [
            {
              name: 'c',
              cluster: {
                server: `https://localhost:${port}`,
                'certificate-authority-data': encoded(authority.certificate),
              },
            },
          ],
          users: [{ name: 'u', user: user(clients) }],
        }),
      );
      const access = openAccess({ kubeconfig, nowMs: () => NOW_MS });
      try {
        const [mine, theirs] = [
          createKubeClient({
            access,
            userAgent: 'test',
            meter: METER,
          }),
          createKubeClient({ access: access.as('theirs'), userAgent: 'test', meter: METER }),
        ];
        const ask = (client: typeof mine): Promise<unknown> => client.request({ method: 'GET', path: '/x' });
        await ask(mine);
        await ask(theirs);
        status = 401;
        await assert.rejects(ask(theirs), { status: 401 });
        status = 200;
        await ask(mine);
        await theirs.close(); // one person's end is nobody else's
        await ask(mine);
        const ofTheirs = seen.filter(({ authorization }) => authorization === 'Bearer theirs');
        assert.deepEqual(
          ofTheirs,
          [1, 2].map(() => ({ client: '', authorization: 'Bearer theirs', headers: [] })),
        );
        const ofMine = seen.filter(({ authorization }) => authorization !== 'Bearer theirs');
        assert.equal(ofMine.length, 3);
        for (const { client, authorization } of ofMine)
          assert.deepEqual(
            [client, authorization],
            own === 'a client certificate' ? ['operator', undefined] : ['', 'Bearer operators-own'],
          );
      } finally {
        await access.close();
        server.closeAllConnections();
        await new Promise((resolve) => {
          server.close(resolve);
        });
        await rm(folder, { recursive: true });
      }
    });
  }
});

function encoded(text: string): string {
  return Buffer.from(text).toString('base64');
}

function commonName({ socket }: IncomingMessage): string {
  return socket instanceof TLSSocket ? String(socket.getPeerCertificate().subject?.CN ?? '') : '';
}
