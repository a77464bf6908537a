/** Explains why a process cannot start. */
import { BasePathTaken } from '../../console/base-path.ts';
import { InvalidForwardProxy } from '../../dataplane/upstream/forward-proxy.ts';
import { InvalidManifests, formatDiagnostic } from '#manifests/diagnostic.ts';
import { CommandFailed } from '../exit-codes.ts';
import { explainListen, systemErrorOf } from './listen-errors.ts';
import type { FlagAddress } from './listen-errors.ts';

const FILE_WORDS: Readonly<Record<string, string>> = {
  ENOENT: 'no such file or folder',
  ENOTDIR: 'not a folder',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EROFS: 'read-only file system',
  ENOSPC: 'the disk is full',
};

/** Returns the failure to report for an error at the start. A defect is returned unchanged. */
export function explainStart(error: unknown, addresses: readonly FlagAddress[]): unknown {
  if (error instanceof CommandFailed) return error;
  if (error instanceof InvalidManifests) return invalidManifests(error);
  if (error instanceof InvalidForwardProxy || error instanceof BasePathTaken)
    return new CommandFailed(error.message, undefined, error);
  const listening = explainListen(error, addresses);
  if (listening !== error) return listening;
  const { code, path, message } = systemErrorOf(error);
  if (path !== undefined && FILE_WORDS[code] !== undefined)
    return new CommandFailed(`${path}: ${FILE_WORDS[code]}`, undefined, error);
  return message.includes('ledger') ? new CommandFailed(`${message}${adviceOn(message)}`, undefined, error) : error;
}

/** Advice about errors whose own message gives none. */
function adviceOn(message: string): string {
  if (message.includes('in use by another process'))
    return '\nStop the other process, or choose another location with --data or --ledger.';
  return message.includes('Restore the ledger')
    ? ''
    : '\nRestore the ledger from a backup, or choose another location with --data or --ledger.';
}

function invalidManifests({ diagnostics }: InvalidManifests): CommandFailed {
  const count = diagnostics.filter(({ severity }) => severity === 'Error').length;
  return new CommandFailed(
    `${diagnostics.map(formatDiagnostic).join('\n')}\n${count} ${count === 1 ? 'error' : 'errors'} in the ` +
      'manifests: the gateway was not started',
  );
}
