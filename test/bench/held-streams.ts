/**
 * A client with many streams at once that stay open, in a process of its own: node held-streams.ts
 * '{"url","call","key","count"}' prints "open" once each has had its first event, and goes when its input ends.
 */
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import type { CallSpec } from './cases.ts';

export interface HeldStreams {
  readonly url: string;
  readonly call: CallSpec;
  readonly key: string;
  readonly count: number;
}

/** Opened in groups, so that no backlog is full. */
const GROUP = 50;
const { url, call, key, count } = JSON.parse(process.argv[2] ?? '{}') as HeldStreams;
const { hostname, port, host } = new URL(url);
const headers = {
  host,
  ...call.headers,
  authorization: `Bearer ${key}`,
  'content-length': Buffer.byteLength(call.body),
};
const request = `POST ${call.path} HTTP/1.1\r\n${Object.entries(headers)
  .map(([name, value]) => `${name}: ${value}\r\n`)
  .join('')}\r\n${call.body}`;

function open(): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: hostname, port: Number(port) }, () => socket.write(request));
    socket.once('error', reject);
    let seen = '';
    socket.on('data', (data: Buffer) => {
      seen = (seen + data.toString('latin1')).slice(0, 4096);
      if (!seen.startsWith('HTTP/1.1 200')) reject(new Error(seen));
      else if (seen.includes('data: ')) resolve(socket);
    });
  });
}

for (let opened = 0; opened < count; opened += GROUP)
  await Promise.all(Array.from({ length: Math.min(GROUP, count - opened) }, open));
process.stdout.write('open\n');
process.stdin.on('end', () => process.exit(0)).resume();
