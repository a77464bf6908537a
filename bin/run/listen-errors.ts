/** Explains why a process cannot listen. It is separate from start-errors.ts so that the sidecar loads little. */
import { CommandFailed } from '../exit-codes.ts';
import { formatAddress } from '../options.ts';
import type { ListenAddress } from '../../dataplane/listen.ts';

/** An address, and the flag that sets it. */
export interface FlagAddress extends ListenAddress {
  readonly flag: string;
}

const LISTEN_WORDS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'the port is in use by another process',
  EADDRNOTAVAIL: 'the address is not an address of this machine',
  EACCES: 'permission denied for this port',
  ENOTFOUND: 'no such host',
};

/** Returns an explanation if the error is about one of the addresses, and otherwise the error itself. */
export function explainListen(error: unknown, addresses: readonly FlagAddress[]): unknown {
  const { code, syscall } = systemErrorOf(error);
  if (syscall !== 'listen' && syscall !== 'getaddrinfo') return error;
  return new CommandFailed(listenProblem(error, code, addresses), undefined, error);
}

function listenProblem(error: unknown, code: string, addresses: readonly FlagAddress[]): string {
  const port = typeof error === 'object' && error !== null && 'port' in error ? error.port : undefined;
  const asked = addresses.find((each) => each.port === port) ?? addresses.find(() => port === undefined);
  const place = asked ? `${asked.flag} ${formatAddress(asked)}` : `port ${String(port)}`;
  return `${place}: ${LISTEN_WORDS[code] ?? code}. Choose another address with ${asked?.flag ?? 'its flag'}.`;
}

/** The fields of Node's system errors. */
export function systemErrorOf(error: unknown): {
  code: string;
  syscall: string | undefined;
  path: string | undefined;
  message: string;
} {
  const field = (name: string): string | undefined => {
    const value: unknown =
      typeof error === 'object' && error !== null && name in error ? Reflect.get(error, name) : undefined;
    return typeof value === 'string' ? value : undefined;
  };
  return { code: field('code') ?? '', syscall: field('syscall'), path: field('path'), message: field('message') ?? '' };
}
