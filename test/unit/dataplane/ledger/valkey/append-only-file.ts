/**
 * For tests that decide where a server and its answers end: its append-only file, command by command, and a proxy in
 * front of it that keeps answers back.
 */
import { once } from 'node:events';
import { readdir, readFile, truncate } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import type { ValkeyServer } from '../../../../support/valkey.ts';

/** One command, or what a server takes as a whole. */
export interface Written {
  readonly from: number;
  readonly to: number;
  /** Of each command: its end, and its words. */
  readonly commands: readonly { readonly to: number; readonly words: readonly string[] }[];
}

async function appendedPath({ dir }: ValkeyServer): Promise<string> {
  const folder = join(dir, 'appendonlydir');
  const name = (await readdir(folder)).find((each) => each.endsWith('.incr.aof'));
  if (name === undefined) throw new Error('the server appends to no file');
  return join(folder, name);
}

/** What is in the file as the system has it, transaction by transaction; one that has no end yet is none. */
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

/**
 * Of a server that is killed: its file as a disk may have it that lost power, with what came after this place missing.
 */
export async function cutAppended(server: ValkeyServer, bytes: number): Promise<void> {
  await truncate(await appendedPath(server), bytes);
}

export interface Muted {
  readonly url: string;
  /** From now on no answer arrives, until `speak`; what is asked still does. */
  mute(): void;
  speak(): void;
  /** How many batches of the ledger have been answered with `ok`, completely. */
  answered(): number;
  close(): Promise<void>;
}

/** Before a server, on a port of its own; connections end with the server's. */
export async function muteable({ port }: ValkeyServer): Promise<Muted> {
  let silent = false;
  const passed: Buffer[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect(port, '127.0.0.1');
    for (const [socket, other] of [[client, upstream], [upstream, client]] as const) {
      sockets.add(socket);
      socket.on('error', () => undefined).on('close', () => {
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
    mute: () => { silent = true; },
    speak: () => { silent = false; },
    answered: () => countAnswers(Buffer.concat(passed).toString('latin1')),
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

/** Ends each reply of a batch. */
const REPLY_END = '\x1e';

/** Of what one connection has received, by RESP: bulk strings that the ledger's script begins with `ok`. */
function countAnswers(text: string): number {
  let count = 0;
  for (let at = 0; at < text.length;) {
    const end = text.indexOf('\r\n', at);
    if (end < 0) return count;
    const length = text[at] === '$' ? Number(text.slice(at + 1, end)) : -1;
    at = end + 2 + (length < 0 ? 0 : length + 2);
    const [first] = text.slice(end + 2, at - 2).split(REPLY_END);
    if (length >= 0 && at <= text.length && first === 'ok') count += 1;
  }
  return count;
}
