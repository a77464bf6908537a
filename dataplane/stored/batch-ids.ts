/**
 * Files and batches that a provider keeps for an account. The gateway stores nothing of them: the sealed id names the
 * channel that has it, and opens only for keys of the same account, which has paid for what is in it.
 */
import { GatewayError } from '../errors.ts';
import type { PipelineDeps } from '../pipeline/context.ts';
import { sealFor } from '../pipeline/sealing-context.ts';
import { readKept } from '../protocol/batches/objects.ts';
import type { KeptId } from '../protocol/batches/objects.ts';
import type { BatchForm } from '../protocol/batches/requests.ts';
import type { ChannelSeal } from '../protocol/sealed-values.ts';
import { channelLimits } from '../state/limits.ts';
import { mayUse } from '../state/may-use.ts';
import type { KeyState, State } from '../state/state.ts';
import type { ListedChannel } from './list-kept.ts';
import { offersOf } from './stored-object.ts';
import type { StoringChannel } from './stored-object.ts';

/** What an id names, at its channel. */
export interface KeptAt extends KeptId, Pick<StoringChannel, 'channel' | 'seal'> {
  /** As the client has it. */
  readonly sealedId: string;
}

/** Undefined: the account has nothing of this name, the key or its group has not its model, or its channel is gone. */
export function openKept(state: State, key: KeyState, kind: string, sealedId: string): KeptAt | undefined {
  const opened = sealFor(state, key, '')?.open(sealedId);
  if (opened?.kind !== kind) return undefined;
  const kept = readKept(opened.data);
  const target = state.targets.get(opened.channel);
  const seal = sealFor(state, key, opened.channel);
  if (!target || !seal || !mayUse(state, key, kept.model)) return undefined;
  const limits = channelLimits(state, { group: key.group, model: kept.model, channel: opened.channel });
  return { ...kept, sealedId, seal, channel: { target, limits, model: { name: kept.model } } };
}

/** The seal of a channel. Throws unsupported_parameter if the gateway has no key to seal ids with. */
export function sealAt({ state }: Pick<PipelineDeps, 'state'>, key: KeyState, channel: string): ChannelSeal {
  const seal = sealFor(state.get(), key, channel);
  if (seal) return seal;
  const message = 'This gateway has no key to seal ids with, so that the results of a batch could not be fetched.';
  throw new GatewayError('unsupported_parameter', message);
}

/** The channels whose batches the key may list, each with its seal, in a fixed order. */
export function listedChannels(state: State, key: KeyState, form: BatchForm): readonly ListedChannel[] {
  const channels = new Map(
    offersOf(state, key)
      .flatMap(({ tiers, drained }) => [...tiers.flat(), ...drained])
      .filter(({ target }) => target.protocol === form && target.endpoints.has('Batches'))
      .map((candidate) => [candidate.target.id, candidate]),
  );
  return [...channels].sort(byName).flatMap(([id, channel]) => {
    const seal = sealFor(state, key, id);
    return seal ? [{ channel, seal }] : [];
  });
}

function byName([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : 1;
}
