/**
 * Sends the calls of one conversation to one channel without storing any state, because only that provider account has
 * the conversation's prompt cache and can read its encrypted reasoning. A conversation's order of channels never
 * changes: the conversation moves to the next one while a channel is full or fails, and returns when it recovers.
 */
import { GatewayError } from '../errors.ts';
import type { AffinityFacts } from '../protocol/affinity-facts.ts';
import { UNUSABLE } from '../protocol/openai/response-seals.ts';
import type { Candidate } from '../state/state.ts';
import { orderCandidates, rankCandidates } from '../upstream/pick.ts';
import type { Authenticated, PipelineDeps, Received, Routed } from './context.ts';
import { sealFor } from './sealing-context.ts';

/** The headers by which clients name their sessions, the most specific first: Claude Code, Codex, earlier Codex. */
const SESSION_HEADERS = ['x-claude-code-session-id', 'session-id', 'session_id'] as const;
/** A longer value is not accepted as a name. */
const MAX_SESSION_LENGTH = 128;

/** The session that the client names (Claude Code, Codex); undefined if it names none. */
export function sessionOf({ headers }: Pick<Received, 'headers'>): string | undefined {
  for (const name of SESSION_HEADERS) {
    const value = headers[name];
    if (typeof value === 'string' && value !== '' && value.length <= MAX_SESSION_LENGTH) return value;
  }
  return undefined;
}

/**
 * The offer's candidates in the order in which this call tries them. Throws unsupported_parameter if none can serve it.
 */
export function orderByAffinity(
  deps: Pick<PipelineDeps, 'state' | 'random'>,
  authenticated: Authenticated,
  { call: { affinity }, offer: { tiers } }: Pick<Routed, 'call' | 'offer'>,
): readonly Candidate[] {
  const [first = [], ...lower] = tiers;
  const hasChoice = first.length > 1 || lower.length > 0;
  if (!affinity || !(hasChoice || affinity.bound.length > 0)) return orderCandidates(tiers, deps.random);
  const conversation = conversationOf(authenticated, affinity);
  const channels = new Set(tiers.flat().map(({ target }) => target.id));
  const opened = openedBy(deps, authenticated);
  const home = affinity.sealed.map(opened).find((channel) => channel !== undefined && channels.has(channel));
  const ordered = tiers.flatMap((tier) =>
    tier.some(({ routing }) => routing === 'Affinity')
      ? withFirst(
          home,
          rankCandidates(tier, conversation, ({ target }) => target.id),
        )
      : orderCandidates([tier], deps.random),
  );
  return onlyBound(ordered, affinity.bound.map(opened));
}

/** The channel that a sealed value names; undefined if another gateway sealed it, or for another account. */
function openedBy(
  { state }: Pick<PipelineDeps, 'state'>,
  { key }: Authenticated,
): (sealed: string) => string | undefined {
  const seal = sealFor(state.get(), key, '');
  return (sealed) => seal?.open(sealed)?.channel;
}

/**
 * The conversation's identity. It contains the key, so that keys never share a conversation, whatever sessions clients
 * name.
 */
function conversationOf({ key, received }: Authenticated, { cacheKey, opening }: AffinityFacts): string {
  return JSON.stringify([key.uid, cacheKey ?? sessionOf(received) ?? opening]);
}

function withFirst(home: string | undefined, tier: readonly Candidate[]): readonly Candidate[] {
  const first = tier.filter(({ target }) => target.id === home);
  return first.length === 0 ? tier : [...first, ...tier.filter(({ target }) => target.id !== home)];
}

/** Keeps only the channel that the call is bound to by sealed values. Throws unsupported_parameter if it is missing. */
function onlyBound(candidates: readonly Candidate[], bound: readonly (string | undefined)[]): readonly Candidate[] {
  if (bound.length === 0) return candidates;
  const [channel, ...others] = new Set(bound);
  const able = candidates.filter(({ target }) => target.id === channel);
  if (others.length > 0 || able.length === 0)
    throw new GatewayError('unsupported_parameter', UNUSABLE, { param: 'input' });
  return able;
}
