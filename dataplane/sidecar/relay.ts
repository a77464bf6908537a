/**
 * Relays an upgraded connection byte for byte in both directions. An end that reads slowly slows down the other one, and
 * an end that closes or breaks off takes the other one with it.
 */
import type { Duplex } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ExchangeOutcome } from './proxy-exchange.ts';

/** The app's connection as Node gives it away. */
export interface AppUpgrade {
  readonly socket: Duplex;
  /** What the app has sent already. */
  readonly head: Buffer;
}

export interface RelayOptions {
  readonly onBytes: (direction: 'to_fleet' | 'to_app', bytes: number) => void;
}

/** Resolves when both connections are closed. Never rejects. */
export async function relayUpgrade(
  { socket: app, head }: AppUpgrade,
  fleet: Duplex,
  { onBytes }: RelayOptions,
): Promise<ExchangeOutcome> {
  let broken: ExchangeOutcome | undefined;
  app.once('error', () => (broken ??= { kind: 'Left' }));
  fleet.once('error', (error: Error) => (broken ??= { kind: 'Cut', error }));
  if (head.length > 0) app.unshift(head);
  const relayed = [pipeline(app, fleet), pipeline(fleet, app)];
  app.on('data', (chunk: Buffer) => onBytes('to_fleet', chunk.length));
  fleet.on('data', (chunk: Buffer) => onBytes('to_app', chunk.length));
  await Promise.allSettled(relayed);
  for (const socket of [app, fleet]) socket.destroy();
  return broken ?? { kind: 'Answered' };
}
