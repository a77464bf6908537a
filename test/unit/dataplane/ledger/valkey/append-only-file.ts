/**
 * For tests that choose where a server's data and replies end: its append-only file, command by command, and a proxy in
 * front of it that can hold replies back.
 */
import { once } from 'node:events';
import { readdir, readFile, truncate } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import type { ValkeyServer } from '../../../../support/valkey.ts';

/** One command, or one transaction. */
export interface Written {
  readonly from: number;
  readonly to: number;
  /** The end and the arguments of each command. */
  readonly commands: readonly { readonly to: number; readonly words: readonly string[] }[];
}

async function appendedPath({ dir }: ValkeyServer): Promise<string> {
  const folder = join(dir, 'appendonlydir');
  const name = (await readdir(folder)).find((each) => each.endsWith('.incr.aof'));
  if (name === undefined) throw new Error('the server appends to no file');
  return join(folder, name);
}

/** The content of the file, transaction by transaction; an incomplete one is left out. */
export async function readAppended(server: ValkeyServer): Promise<Written[]> {
  const bytes = await readFile(await appendedPath(server));
  const all: Written[] = [];
  let open: { from: number; commands: Written['commands'][number][] } | undefined;
  let from = 0;
  for (let command = commandAt(bytes, from); command; command = commandAt(bytes, from)) {
    const [word] = command.words;
    open = word === 'MULTI' ? { from, commands: [] } : open;
    if (open) open.commands.push(command);
    if (!open || word === 'EXEC') {
      all.push({ from: open?.from ?? from, to: command.to, commands: open?.commands ?? [command] });
      open = undefined;
    }
    from = command.to;
  }
  return all;
}

function commandAt(bytes: Buffer, from: number): { to: number; words: string[] } | undefined {
  const count = lineAt(bytes, from);
  if (!count) return undefined;
  const words: string[] = [];
  let at = count.to;
  for (let left = count.number; left > 0; left--) {
    const length = lineAt(bytes, at);
    if (!length || length.to + length.number + 2 > bytes.length) return undefined;
    words.push(bytes.toString('latin1', length.to, length.to + length.number));
    at = length.to + length.number + 2;
  }
  return { to: at, words };
}

/** The number of a line such as `*3` or `$11`. */
function lineAt(bytes: Buffer, from: number): { number: number; to: number } | undefined {
  const end = bytes.indexOf('\r\n', from);
  return end < 0 ? undefined : { number: Number(bytes.toString('latin1', from + 1, end)), to: end + 2 };
}

/** Truncates the file of a killed server, as a disk may have it after a power loss. */
export async function cutAppended(server: ValkeyServer, bytes: number): Promise<void> {
  await truncate(await appendedPath(server), bytes);
}

export interface Muted {
  readonly url: string;
  /** Holds replies back until `speak`; requests still arrive. */
  mute(): void;
  speak(): void;
  /** The number of the ledger's batches that got a complete `ok`. */
  answered(): number;
  close(): Promise<void>;
}

/** A proxy in front of a server, on a port of its own; its connections end with the server's. */
export async function muteable({ port }: ValkeyServer): Promise<Muted> {
  let silent = false;
  const passed: Buffer[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect(port, '127.0.0.1');
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(socket);
      socket
        .on('error', () => undefined)
        .on('close', () => {
          sockets.delete(socket);
          other.destroy();
        });
    }
    client.on('data', (bytes) => upstream.write(bytes));
    upstream.on('data', (bytes: Buffer) => {
      if (silent) return;
      passed.push(bytes);
      client.write(bytes);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (typeof address !== 'object' || !address) throw new Error('no port is free');
  return {
    url: `valkey://127.0.0.1:${address.port}`,
    mute: () => {
      silent = true;
    },
    speak: () => {
      silent = false;
    },
    answered: () => countAnswers(Buffer.concat(passed).toString('latin1')),
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

/** How the replies to an executed batch begin. */
const ACCEPTED = '[{"is":"ok"}';

/** Counts, in one connection's replies (RESP), the bulk strings of the script that say it was executed. */
function countAnswers(text: string): number {
  let count = 0;
  for (let at = 0; at < text.length;) {
    const end = text.indexOf('\r\n', at);
    if (end < 0) return count;
    const length = text[at] === '$' ? Number(text.slice(at + 1, end)) : -1;
    at = end + 2 + (length < 0 ? 0 : length + 2);
    if (length >= 0 && at <= text.length && text.startsWith(ACCEPTED, end + 2)) count += 1;
  }
  return count;
}
