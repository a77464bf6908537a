/**
 * The light clients of apply.ts, in a process of their own: each has its own connection and the whole protocol, its
 * acknowledgements included, and puts what it gets in force as a proxy does. Arguments: the operator's address, how
 * many, how many keys.
 */
import { hash } from 'node:crypto';
import { compileEdit } from '../../dataplane/state/compile-edit.ts';
import { compile } from '../../dataplane/state/compile.ts';
import type { State } from '../../dataplane/state/state.ts';
import { startXdsClient } from '../../dataplane/xds/client.ts';

/** Which key to look at, and whether it will be open. */
export interface Watch {
  readonly key: string;
  readonly open: boolean;
}

/** The moment at which the last client acknowledged, in milliseconds since the epoch. */
export interface Acknowledged {
  readonly lastMs: number;
}

const [address = '', count = '0', keys = '0'] = process.argv.slice(2);
const LOG = { info: () => undefined, warn: () => undefined, error: console.error, debug: () => undefined };
const states: (State | undefined)[] = Array.from({ length: Number(count) }, () => undefined);
let watched: (Watch & { readonly sha256: string }) | undefined;
let whole = false;

function checkKey(): void {
  if (!whole && states.every((state) => state !== undefined && state.credentials.size >= Number(keys))) {
    whole = true;
    report();
  }
  if (!watched) return;
  const { sha256, open } = watched;
  if (!states.every((state) => (state?.credentials.get(sha256)?.key.enabled ?? false) === open)) return;
  watched = undefined;
  report();
}

function report(): void {
  process.send?.({ lastMs: performance.timeOrigin + performance.now() } satisfies Acknowledged);
}

process.on('message', ({ key, open }: Watch) => {
  watched = { key, open, sha256: hash('sha256', key) };
  checkKey();
});
await Promise.all(
  states.map((_, n) =>
    startXdsClient({
      addresses: [address],
      secure: undefined,
      nodeId: `client-${n}`,
      version: 'bench',
      log: LOG,
      random: () => 0,
      install({ snapshot, edit }) {
        const before = states[n];
        states[n] = before && edit ? compileEdit(before, edit) : compile(snapshot(), before);
      },
      // a round's acknowledgement has been sent
      onRound: checkKey,
    }),
  ),
);
checkKey();
