/**
 * The mock provider, a process of its own: a raw socket server that does as little as possible for a request, so that
 * it does not distort the measurement. It takes requests as load generators and undici send them (a content-length, one
 * at a time), answers with bytes made beforehand, and knows by the body whether a stream is wanted and at which pace.
 */
import { createServer } from 'node:net';
import type { Socket } from 'node:net';
import { STREAM_HEAD, streamChunks, wholeAnswer } from './answers.ts';
import { BURST_SUFFIX, EVENTS_PER_BURST, EVENTS_PER_STREAM, HELD_SUFFIX, PACE_MS, PACED_SUFFIX } from './cases.ts';
import type { Dialect } from './cases.ts';
import { listening } from './ready.ts';

const ANSWERS = each(wholeAnswer);
const CHUNKS = each(streamChunks);
const BURSTS = each((dialect) => burstsOf(CHUNKS[dialect]));

function each<T>(make: (dialect: Dialect) => T): Readonly<Record<Dialect, T>> {
  return { openai: make('openai'), anthropic: make('anthropic'), responses: make('responses') };
}

interface Stream {
  readonly socket: Socket;
  readonly chunks: readonly Buffer[];
  next: number;
}

/** Streams at full speed: each gets one event per turn of the event loop. */
let running: Stream[] = [];
/** Paced streams, spread over the milliseconds of one pace. */
const slots: Stream[][] = Array.from({ length: PACE_MS }, () => []);
let started = 0;
let tick = 0;

function writeEvents(streams: Stream[]): Stream[] {
  for (const stream of streams) {
    const chunk = stream.chunks[stream.next++];
    if (chunk) stream.socket.write(chunk);
  }
  return streams.filter(({ socket, chunks, next }) => next < chunks.length && !socket.destroyed);
}

function turn(): void {
  running = writeEvents(running);
  if (running.length > 0) setImmediate(turn);
}

setInterval(() => {
  const slot = tick++ % PACE_MS;
  slots[slot] = writeEvents(slots[slot] ?? []);
}, 1);

function burstsOf(chunks: readonly Buffer[]): Buffer[] {
  return Array.from({ length: EVENTS_PER_STREAM / EVENTS_PER_BURST }, (_none, index) =>
    Buffer.concat(chunks.slice(index * EVENTS_PER_BURST, (index + 1) * EVENTS_PER_BURST)),
  );
}

function startStream(socket: Socket, chunks: readonly Buffer[], paced: boolean): void {
  socket.write(STREAM_HEAD);
  const stream = { socket, chunks, next: 0 };
  if (paced) {
    slots[started++ % PACE_MS]?.push(stream);
    return;
  }
  running.push(stream);
  if (running.length === 1) setImmediate(turn);
}

function dialectOf(head: string): Dialect {
  if (head.includes('/messages ')) return 'anthropic';
  return head.includes('/responses ') ? 'responses' : 'openai';
}

function answer(socket: Socket, head: string, body: Buffer): void {
  const dialect = dialectOf(head);
  if (!body.includes('"stream":true')) socket.write(ANSWERS[dialect]);
  else if (body.includes(`${HELD_SUFFIX}"`)) startStream(socket, BURSTS[dialect].slice(0, 2), true);
  else if (body.includes(`${BURST_SUFFIX}"`)) startStream(socket, BURSTS[dialect], true);
  else startStream(socket, CHUNKS[dialect], body.includes(`${PACED_SUFFIX}"`));
}

const server = createServer({ noDelay: true }, (socket) => {
  let pending: Buffer = Buffer.alloc(0);
  socket.on('error', () => undefined);
  socket.on('data', (bytes: Buffer) => {
    pending = pending.length === 0 ? bytes : Buffer.concat([pending, bytes]);
    const headEnd = pending.indexOf('\r\n\r\n');
    if (headEnd < 0) return;
    const head = pending.toString('latin1', 0, headEnd);
    const length = Number(/content-length: *(\d+)/i.exec(head)?.[1] ?? 0);
    const end = headEnd + 4 + length;
    if (pending.length < end) return;
    const body = pending.subarray(headEnd + 4, end);
    pending = pending.subarray(end);
    answer(socket, head, body);
  });
});

listening(server, Number(process.argv[2] ?? 0));
