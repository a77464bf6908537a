/** The sources of a pod's own identity: its environment, and token files that the cluster renews before they expire. */
import { readFile } from 'node:fs/promises';
import type { Dispatcher } from 'undici';
import { SignInError } from './token-request.ts';
import type { TokenClock } from './token-source.ts';

export interface PodIdentity extends TokenClock {
  /** The environment's variables. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The connections to token services; undefined: direct ones. The node's own services are always asked directly. */
  readonly toTokenServices?: Dispatcher | undefined;
}

/** Throws SignInError if the variable is not set. */
export function requireVariable({ env }: PodIdentity, name: string): string {
  const value = env[name];
  if (value === undefined || value === '')
    throw new SignInError('NO_IDENTITY', `the pod has no identity of its own: ${name} is not set`);
  return value;
}

/** Reads a token file, each time anew, because the cluster replaces it. Throws SignInError. */
export async function readTokenFile(path: string): Promise<string> {
  try {
    return (await readFile(path, 'utf8')).trim();
  } catch (error) {
    throw new SignInError('NO_TOKEN_FILE', "the file with the pod's token cannot be read", error);
  }
}
