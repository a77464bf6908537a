/**
 * The connection to the server or the Cluster, through which the ledger's script runs. It always reconnects; commands
 * fail at once while it is disconnected.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createClient, createCluster } from '@redis/client';
import type { ValkeyLocation } from './location.ts';

export interface ValkeyConnection {
  /** Runs a batch. Resolves with the reply when the configured number of replicas has confirmed it. */
  run(base: string, batch: string): Promise<unknown>;
  /** Runs a batch of reads, for which read permissions are enough. */
  read(base: string, batch: string): Promise<unknown>;
  /** Runs another read command on a key. */
  command(key: string, args: readonly string[]): Promise<unknown>;
  /** Runs another command that writes a key outside of the ledger's data. */
  write(key: string, args: readonly string[]): Promise<unknown>;
  /** The latest error, for operators; empty after a successful command. */
  lastFailure(): string;
  /** Closes the connection; commands in flight are lost. */
  close(): void;
}

/** Sends a command to the node that has the key. */
type Send = (key: string, args: readonly string[], readonly: boolean) => Promise<unknown>;

const SOURCE = readFileSync(join(import.meta.dirname, 'ledger.lua'), 'utf8');
const SCRIPT = `${SOURCE}\nreturn main(KEYS, ARGV)\n`;
const SCRIPT_SHA = createHash('sha1').update(SCRIPT).digest('hex');
/**
 * The name contains the script's hash, so that data planes of different versions use different functions on the same
 * data.
 */
const FUNCTION = `mgw_${SCRIPT_SHA.slice(0, 16)}`;
const LIBRARY = `#!lua name=${FUNCTION}\n${SOURCE}\nredis.register_function('${FUNCTION}', main)\n`;

const CONNECT_MS = 2_000;
const PING_MS = 500;
/** A connection without any data from the server for this long is closed. */
const SILENT_MS = 3_000;
const RECONNECT_MS = 500;
/** No timeout per command: the connection is closed if the server is silent. */
const COMMAND_OPTIONS = { timeout: 0 };

/** Connects in the background. */
export function openConnection(location: ValkeyLocation): ValkeyConnection {
  let lastFailure = '';
  const onError = (error: unknown): void => {
    lastFailure = messageOf(error);
  };
  const connection = location.cluster ? openCluster(location, onError) : openServer(location, onError);
  const send: Send = async (key, args, readonly) => {
    const reply = await connection.send(key, args, readonly);
    lastFailure = '';
    return reply;
  };
  const run = createRunner(send);
  const runAndWait = async (base: string, batch: string): Promise<unknown> => {
    const wait = ['WAIT', String(location.wait), String(location.timeoutMs)];
    const [result, replicas] = await Promise.all([run(base, batch), send(base, wait, false)]);
    const count = Number(replicas);
    if (count < location.wait) throw new Error(`only ${count} of ${location.wait} replicas have it`);
    return result;
  };
  return {
    run: location.wait === 0 ? run : runAndWait,
    read: (base, batch) => evaluate(send, { base, batch, readonly: true }),
    command: (key, args) => send(key, args, true),
    write: (key, args) => send(key, args, false),
    lastFailure: () => lastFailure,
    close: connection.close,
  };
}

/** Runs batches as a server function, or as a script if the server has no functions for this user. */
function createRunner(send: Send): ValkeyConnection['run'] {
  let hasFunctions = true;
  return async (base, batch) => {
    if (hasFunctions) {
      try {
        return await callFunction(send, base, batch);
      } catch (error) {
        if (!/^NOPERM|unknown command/.test(messageOf(error))) throw error;
        hasFunctions = false;
      }
    }
    return evaluate(send, { base, batch, readonly: false });
  };
}

/** Loads the library if the server does not have it. */
async function callFunction(send: Send, base: string, batch: string): Promise<unknown> {
  const command = ['FCALL', FUNCTION, '1', base, batch];
  try {
    return await send(base, command, false);
  } catch (error) {
    if (!messageOf(error).includes('Function not found')) throw error;
  }
  await send(base, ['FUNCTION', 'LOAD', LIBRARY], false).catch((error: unknown) => {
    // another process has loaded it meanwhile
    if (!messageOf(error).includes('already exists')) throw error;
  });
  return send(base, command, false);
}

interface Evaluation {
  readonly base: string;
  readonly batch: string;
  readonly readonly: boolean;
}

/** Runs a batch as a script, which needs no library and works for a user with read permissions. */
async function evaluate(send: Send, { base, batch, readonly }: Evaluation): Promise<unknown> {
  const suffix = readonly ? '_RO' : '';
  try {
    return await send(base, [`EVALSHA${suffix}`, SCRIPT_SHA, '1', base, batch], readonly);
  } catch (error) {
    if (!messageOf(error).startsWith('NOSCRIPT')) throw error;
    return send(base, [`EVAL${suffix}`, SCRIPT, '1', base, batch], readonly);
  }
}

/** The text of a server's or a connection's error. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function socketOf(location: ValkeyLocation) {
  const { tls, caFile } = location;
  const options = {
    connectTimeout: CONNECT_MS,
    socketTimeout: SILENT_MS,
    noDelay: true,
    // exponential backoff with jitter, so that a fleet does not reconnect in step
    reconnectStrategy: (retries: number) => Math.min(RECONNECT_MS, 20 * 2 ** retries) * (0.5 + Math.random() / 2),
  };
  return tls ? { ...options, tls: true as const, ...(caFile !== undefined && { ca: readFileSync(caFile) }) } : options;
}

function credentialsOf({ username, password, passwordFile }: ValkeyLocation) {
  if (username === undefined && password === undefined && passwordFile === undefined) return {};
  const credentials = async () => {
    const word = passwordFile === undefined ? password : readFileSync(passwordFile, 'utf8').trim();
    return { ...(username !== undefined && { username }), ...(word !== undefined && { password: word }) };
  };
  return { credentialsProvider: { type: 'async-credentials-provider' as const, credentials } };
}

function connectionOf(location: ValkeyLocation) {
  return {
    RESP: 2 as const,
    commandOptions: COMMAND_OPTIONS,
    ...credentialsOf(location),
    socket: socketOf(location),
    disableOfflineQueue: true,
    pingInterval: PING_MS,
    disableClientInfo: true,
    maintNotifications: 'disabled' as const,
  };
}

function openServer(location: ValkeyLocation, onError: (error: unknown) => void): { send: Send; close: () => void } {
  const [server] = location.hosts;
  if (!server) throw new Error("a ledger's location has a host");
  const connection = connectionOf(location);
  const socket = { ...connection.socket, host: server.host, port: server.port };
  const client = createClient({ ...connection, socket, database: location.database });
  client.on('error', onError);
  // rejects only if the client is closed before it is connected
  client.connect().catch(onError);
  return { send: (_key, args) => client.sendCommand(args), close: () => client.destroy() };
}

function openCluster(location: ValkeyLocation, onError: (error: unknown) => void): { send: Send; close: () => void } {
  const scheme = location.tls ? 'rediss' : 'redis';
  const connection = connectionOf(location);
  const rootNodes = location.hosts.map(({ host, port }) => ({
    ...connection,
    url: `${scheme}://${host.includes(':') ? `[${host}]` : host}:${port}`,
    socket: { ...connection.socket, reconnectStrategy: false as const },
  }));
  const ending = new AbortController();
  const options = { RESP: 2 as const, commandOptions: COMMAND_OPTIONS, rootNodes, defaults: connection };
  const make = () => createCluster(options).on('error', onError);
  let cluster: ReturnType<typeof make> | undefined;
  // the client reconnects to lost nodes, but does not repeat its first connection
  const connect = async (): Promise<void> => {
    for (;;) {
      const next = make();
      const failure = await next.connect().then(
        () => undefined,
        (error: unknown) => ({ error }),
      );
      if (ending.signal.aborted) return next.destroy();
      if (!failure) {
        cluster = next;
        return;
      }
      onError(failure.error);
      await sleep(RECONNECT_MS, undefined, { signal: ending.signal, ref: false });
    }
  };
  connect().catch(onError);
  return {
    send: async (key, args, readonly) => {
      if (!cluster) throw new Error('the Cluster has not been reached yet');
      return cluster.sendCommand(key, readonly, [...args]);
    },
    close: () => {
      ending.abort();
      cluster?.destroy();
    },
  };
}
