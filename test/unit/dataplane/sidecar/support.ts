/**
 * Support of the sidecar's tests: a sidecar in this process with its key in a file, certificates, and a scripted fleet.
 */
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, request as httpRequest } from 'node:http';
import type { ClientRequest, IncomingMessage, RequestListener, RequestOptions, Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { pino } from 'pino';
import { pollFiles } from '../../../../dataplane/polled-files.ts';
import { SYSTEM_CLOCK } from '../../../../dataplane/clock.ts';
import { connectFleet } from '../../../../dataplane/sidecar/fleet.ts';
import type { FleetConnection } from '../../../../dataplane/sidecar/fleet.ts';
import { createMountedKey } from '../../../../dataplane/sidecar/key.ts';
import { createSidecarMetrics } from '../../../../dataplane/sidecar/metrics.ts';
import { startSidecar } from '../../../../dataplane/sidecar/sidecar.ts';
import type { Sidecar } from '../../../../dataplane/sidecar/sidecar.ts';
import { createAuthority, issueServing } from '../../../../operator/security/certificate-authority.ts';
import type { KeyPair } from '../../../../operator/security/certificate-authority.ts';

const HOUR_MS = 3_600_000;

export interface Certificates {
  /** PEM. */
  readonly authority: string;
  readonly serving: KeyPair;
}

/** For the name localhost. */
export async function makeCertificates(): Promise<Certificates> {
  const nowMs = Date.now();
  const authority = await createAuthority(nowMs, HOUR_MS);
  return {
    authority: authority.certificate,
    serving: await issueServing(authority, ['localhost'], { fromMs: nowMs, untilMs: nowMs + HOUR_MS }),
  };
}

export interface TestSidecar {
  readonly url: string;
  readonly port: number;
  readonly fleet: FleetConnection;
  readonly sidecar: Sidecar;
  readonly logs: readonly string[];
  /** The value of a metric, by its name with labels. */
  metric(sample: string): Promise<number>;
  page(): Promise<string>;
  /** Writes or removes the key file; resolves when the sidecar has noticed. */
  writeKey(text: string | undefined): Promise<void>;
  stop(): Promise<void>;
}

/** A sidecar in front of a fleet; without a key, there is no file. */
export async function startTestSidecar(url: string, key: string | undefined, authority?: string): Promise<TestSidecar> {
  const folder = await mkdtemp(join(tmpdir(), 'mgw-sidecar-'));
  const keyFile = join(folder, 'apiKey');
  if (key !== undefined) await writeFile(keyFile, key);
  const logs: string[] = [];
  const log = pino(
    { level: 'trace' },
    new Writable({
      write(chunk: Buffer, _encoding, done) {
        logs.push(chunk.toString());
        done();
      },
    }),
  );
  const fleet = connectFleet({ url });
  fleet.trust(authority);
  const holder = createMountedKey(keyFile);
  const files = await pollFiles({ paths: [keyFile], onRead: ([text]) => holder.take(text) });
  const metrics = createSidecarMetrics({ version: 'test', process, key: holder, fleet });
  const sidecar = await startSidecar({
    fleet,
    key: holder,
    metrics,
    log,
    listen: { host: '127.0.0.1', port: 0 },
    clock: SYSTEM_CLOCK,
    random: () => 0,
  });
  return {
    url: `http://127.0.0.1:${sidecar.port}`,
    port: sidecar.port,
    fleet,
    sidecar,
    logs,
    page: () => metrics.registry.metrics(),
    async metric(sample) {
      const line = (await metrics.registry.metrics()).split('\n').find((each) => each.startsWith(`${sample} `));
      return line === undefined ? 0 : Number(line.slice(sample.length + 1));
    },
    async writeKey(text) {
      if (text === undefined) await rm(keyFile);
      else await writeFile(keyFile, text);
      await files.poll();
    },
    async stop() {
      files.stop();
      await sidecar.drain();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

export interface ScriptedFleet {
  readonly url: string;
  readonly port: number;
  /** The number of connections. */
  readonly connections: Socket[];
  stop(): Promise<void>;
}

/** Plain HTTP; on this port, or on any. */
export async function startFleet(listener: RequestListener, port = 0): Promise<ScriptedFleet> {
  const server: Server = createServer({ keepAliveTimeout: 60_000 }, listener);
  const connections: Socket[] = [];
  server.on('connection', (socket: Socket) => connections.push(socket));
  await once(server.listen(port, '127.0.0.1'), 'listening');
  const { port: taken } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${taken}`,
    port: taken,
    connections,
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => {
        server.close(resolve);
      });
    },
  };
}

export interface Reply {
  readonly status: number;
  readonly message: IncomingMessage;
  readonly text: string;
}

/** Sends one request as an app does, without a library's defaults. */
export async function call(
  url: string,
  { body, ...options }: RequestOptions & { readonly body?: string | Buffer } = {},
): Promise<Reply> {
  const sent = httpRequest(url, { agent: false, ...options });
  sent.end(body);
  return replyTo(sent);
}

export async function replyTo(sent: ClientRequest): Promise<Reply> {
  const [message] = (await once(sent, 'response')) as [IncomingMessage];
  const chunks: Buffer[] = [];
  for await (const chunk of message) chunks.push(chunk as Buffer);
  return { status: message.statusCode ?? 0, message, text: Buffer.concat(chunks).toString() };
}

/** Reads all of a message's body. */
export async function textOf(message: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of message.setEncoding('utf8')) text += String(chunk);
  return text;
}
