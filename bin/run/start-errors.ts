/** What keeps a process from starting, in words that say how to mend it. */
import { ConfigProblems, formatProblem } from '../../operator/files/problem.ts';
import { CommandFailed } from '../exit.ts';
import { formatAddress } from '../options.ts';
import type { Address } from '../options.ts';

/** An address that was asked for, by its flag. */
export interface AskedAddress extends Address {
  readonly flag: string;
}

const LISTEN_WORDS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'the port is in use by another program',
  EADDRNOTAVAIL: 'this machine has no such address',
  EACCES: 'this user may not listen on this port',
  ENOTFOUND: 'there is no such host',
};

const FILE_WORDS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file or folder',
  ENOTDIR: 'it is not a folder',
  EACCES: 'this user may not use it',
  EPERM: 'this user may not use it',
  EROFS: 'it cannot be written',
  ENOSPC: 'the disk is full',
};

/** The failure to report for anything that was thrown at the start; what is a defect is returned as it is. */
export function explainStart(error: unknown, addresses: readonly AskedAddress[]): unknown {
  if (error instanceof CommandFailed) return error;
  if (error instanceof ConfigProblems) return configProblems(error);
  const { code, syscall, path, message } = wordsOf(error);
  if (syscall === 'listen' || syscall === 'getaddrinfo') return new CommandFailed(listenProblem(error, code, addresses), undefined, error);
  if (path !== undefined && FILE_WORDS[code] !== undefined) return new CommandFailed(`${path}: ${FILE_WORDS[code]}`, undefined, error);
  return message.includes('ledger') ? new CommandFailed(`${message}\nChoose another place with --data or --ledger, or end the other process.`, undefined, error) : error;
}

function configProblems({ problems }: ConfigProblems): CommandFailed {
  const count = problems.filter(({ severity }) => severity === 'Error').length;
  return new CommandFailed(`${problems.map(formatProblem).join('\n')}\n${count} ${count === 1 ? 'mistake' : 'mistakes'} in the manifests: nothing was started`);
}

function listenProblem(error: unknown, code: string, addresses: readonly AskedAddress[]): string {
  const port = typeof error === 'object' && error !== null && 'port' in error ? error.port : undefined;
  const asked = addresses.find((each) => each.port === port) ?? addresses.find(() => port === undefined);
  const place = asked ? `${asked.flag} ${formatAddress(asked)}` : `port ${String(port)}`;
  return `${place}: ${LISTEN_WORDS[code] ?? code}. Choose another address with ${asked?.flag ?? 'its flag'}.`;
}

function wordsOf(error: unknown): { code: string; syscall: string | undefined; path: string | undefined; message: string } {
  const field = (name: string): string | undefined => {
    const value: unknown = typeof error === 'object' && error !== null && name in error ? Reflect.get(error, name) : undefined;
    return typeof value === 'string' ? value : undefined;
  };
  return { code: field('code') ?? '', syscall: field('syscall'), path: field('path'), message: field('message') ?? '' };
}
