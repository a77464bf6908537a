/**
 * A client that measures what load generators do not: the time from a request to the first event of its stream. A
 * process of its own: node first-event.ts '{"url","call","key","connections","seconds"}' prints a FirstEvents as JSON.
 */
import { connect } from 'node:net';
import type { CallSpec } from './cases.ts';
import { percentile } from './figures.ts';

export interface FirstEventLoad {
  readonly url: string;
  readonly call: CallSpec;
  readonly key: string;
  readonly connections: number;
  readonly seconds: number;
}

export interface FirstEvents {
  readonly streams: number;
  readonly errors: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/** How the chunked encoding of every stream here ends. */
const END = '0\r\n\r\n';

function requestBytes({ url, call, key }: FirstEventLoad): Buffer {
  const headers = {
    host: new URL(url).host,
    ...call.headers,
    authorization: `Bearer ${key}`,
    'content-length': Buffer.byteLength(call.body),
  };
  const head = Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('');
  return Buffer.from(`POST ${call.path} HTTP/1.1\r\n${head}\r\n${call.body}`);
}

/** A client with one connection, which reads stream after stream until the time is over. */
function client(
  load: FirstEventLoad,
  endAt: number,
  seen: { readonly waits: number[]; errors: number },
): Promise<void> {
  const bytes = requestBytes(load);
  const { hostname, port } = new URL(load.url);
  return new Promise((resolve) => {
    const socket = connect({ host: hostname, port: Number(port), noDelay: true });
    let sentAt = 0;
    let waiting = false;
    let tail = '';
    const send = (): void => {
      if (performance.now() >= endAt) {
        socket.destroy();
        return;
      }
      sentAt = performance.now();
      waiting = true;
      tail = '';
      socket.write(bytes);
    };
    socket.on('connect', send);
    socket.on('data', (data: Buffer) => {
      const text = tail + data.toString('latin1');
      if (waiting && text.includes('data: ')) {
        waiting = false;
        seen.waits.push(performance.now() - sentAt);
      }
      tail = text.slice(waiting ? 0 : -END.length);
      if (tail.endsWith(END)) send();
      else if (waiting && text.startsWith('HTTP/1.1 ') && !text.startsWith('HTTP/1.1 200'))
        socket.destroy(new Error('refused'));
    });
    socket.on('error', () => {
      seen.errors++;
    });
    socket.on('close', () => resolve());
  });
}

const load = JSON.parse(process.argv[2] ?? '{}') as FirstEventLoad;
const seen = { waits: [] as number[], errors: 0 };
const endAt = performance.now() + load.seconds * 1000;
await Promise.all(Array.from({ length: load.connections }, () => client(load, endAt, seen)));
const result: FirstEvents = {
  streams: seen.waits.length,
  errors: seen.errors,
  p50Ms: percentile(seen.waits, 50),
  p99Ms: percentile(seen.waits, 99),
};
process.stdout.write(JSON.stringify(result));
