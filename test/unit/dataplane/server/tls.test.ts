/** TLS files of a running proxy: a renewed pair is used; half a pair is reported, and the previous one stays. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { readTlsFiles } from '../../../../dataplane/tls-files.ts';
import { pollFiles } from '../../../../dataplane/polled-files.ts';
import { listenTls } from '../../../../dataplane/server/tls-listener.ts';
import type { TlsListener } from '../../../../dataplane/server/tls-listener.ts';
import { makeCertificates } from '../sidecar/support.ts';
import type { Certificates } from '../sidecar/support.ts';

const server = createServer((request, response) => {
  response.end(request.url);
});
const first = await makeCertificates();
let tls: TlsListener;
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mgw-tls-'));
  await write(first);
  tls = await listenTls(server, { host: '127.0.0.1', port: 0 }, await readTlsFiles(folder));
});
afterAll(async () => {
  await tls.close();
  await rm(folder, { recursive: true });
});

async function write({ serving }: Certificates): Promise<void> {
  await writeFile(join(folder, 'tls.crt'), serving.certificate);
  await writeFile(join(folder, 'tls.key'), serving.key);
}

/** The first line of the response. */
async function ask(authority: string, versions: { readonly maxVersion?: 'TLSv1.1' } = {}): Promise<string> {
  const socket = connect({ host: '127.0.0.1', port: tls.port, servername: 'localhost', ca: authority, ...versions });
  await once(socket, 'secureConnect');
  socket.write('GET /v1/x HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n');
  let text = '';
  for await (const chunk of socket.setEncoding('utf8')) text += String(chunk);
  return `${text.split('\r\n')[0]} ${text.split('\r\n\r\n')[1]}`;
}

describe('the TLS listener', () => {
  it('serves what the HTTP server serves, to clients that trust its certificate', async () => {
    assert.equal(await ask(first.authority), 'HTTP/1.1 200 OK /v1/x');
    await assert.rejects(ask((await makeCertificates()).authority), /certificate|self-signed|unable to verify/);
    await assert.rejects(ask(first.authority, { maxVersion: 'TLSv1.1' }));
  });

  it('uses a renewed certificate of a folder, and keeps the old one if the new one is invalid', async () => {
    const problems: unknown[] = [];
    const files = await pollFiles({
      paths: [join(folder, 'tls.crt'), join(folder, 'tls.key')],
      everyMs: 1e9,
      onRead([certificate = '', key = '']) {
        try {
          tls.renew({ certificate, key });
        } catch (error) {
          problems.push(error);
        }
      },
    });
    const second = await makeCertificates();
    await writeFile(join(folder, 'tls.crt'), second.serving.certificate);
    await files.poll();
    assert.equal(problems.length, 1);
    assert.match(await ask(first.authority), /200 OK/);
    await writeFile(join(folder, 'tls.key'), second.serving.key);
    await files.poll();
    assert.match(await ask(second.authority), /200 OK/);
    await rm(join(folder, 'tls.key'));
    await files.poll();
    assert.equal(problems.length, 2);
    assert.match(await ask(second.authority), /200 OK/);
    await assert.rejects(readTlsFiles(folder), /tls\.crt and tls\.key must exist/);
    files.stop();
  });
});
