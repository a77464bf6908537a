/**
 * Bounds what an account's conversations take at providers. They cost no money, so the ledger counts them and the bytes
 * that made and extended them; calls that continue a conversation are paid for and add nothing.
 */
import { createHash } from 'node:crypto';
import { GatewayError } from '../errors.ts';
import { LedgerUnavailable } from '#ledger/spending.ts';
import type { ConversationLimits } from '../ledger/ledger.ts';
import type { PipelineDeps } from '../pipeline/context.ts';

type Deps = Pick<PipelineDeps, 'ledger' | 'clock' | 'conversationLimits'>;

/** A conversation at a channel, by the id that the provider gave. */
export interface ConversationPlace {
  readonly account: string;
  readonly channel: string;
  readonly providerId: string;
}

/** Longer than a provider takes to create one: a process that ends meanwhile leaves its place taken for as long. */
const PENDING_MS = 10 * 60_000;
const UNLIMITED: ConversationLimits = { count: Number.MAX_SAFE_INTEGER, bytes: Number.MAX_SAFE_INTEGER };

interface NewConversation {
  readonly requestId: string;
  readonly account: string;
  readonly bytes: number;
}

/** The place of a conversation that a request is creating. */
export interface PendingConversation {
  /** The provider has created it. */
  created(place: ConversationPlace): Promise<void>;
  /** The provider has created none. */
  failed(): Promise<void>;
}

/** Takes a place before the provider is asked. Throws too_many_conversations or LedgerUnavailable. */
export async function reserveConversation(
  deps: Deps,
  { requestId: id, account, bytes }: NewConversation,
): Promise<PendingConversation> {
  const { ledger, clock, conversationLimits: limits } = deps;
  if (!(await ledger.keepConversation({ account, id, bytes, untilMs: clock.nowMs() + PENDING_MS }, limits)))
    throw tooMany(limits);
  return {
    created: (place) =>
      orUntilExpiry(async () => {
        await ledger.keepConversation({ account, id: idOf(place), bytes, untilMs: undefined }, UNLIMITED);
        await ledger.forgetConversation({ account, id });
      }),
    failed: () => orUntilExpiry(() => ledger.forgetConversation({ account, id })),
  };
}

/** Call it before items are added. Throws too_many_conversations or LedgerUnavailable. */
export async function extendConversation(
  { ledger, conversationLimits: limits }: Deps,
  place: ConversationPlace,
  bytes: number,
): Promise<void> {
  const { account } = place;
  if (!(await ledger.keepConversation({ account, id: idOf(place), bytes, untilMs: undefined }, limits)))
    throw tooMany(limits);
}

/** Frees the place of a conversation that the provider has deleted. Rejects with LedgerUnavailable. */
export function endConversation({ ledger }: Deps, place: ConversationPlace): Promise<void> {
  return ledger.forgetConversation({ account: place.account, id: idOf(place) });
}

function idOf({ channel, providerId }: ConversationPlace): string {
  return createHash('sha256').update(`${channel}\n${providerId}`).digest('base64url');
}

/** Ignores a ledger that is away: the client still gets its response, and the reservation expires. */
async function orUntilExpiry(record: () => Promise<void>): Promise<void> {
  try {
    await record();
  } catch (error) {
    if (!(error instanceof LedgerUnavailable)) throw error;
  }
}

function tooMany({ count, bytes }: ConversationLimits): GatewayError {
  const message =
    `This account may keep ${count} conversations and ${bytes} bytes of them at providers. Delete some ` +
    '(DELETE /v1/conversations/{id}), or send whole conversations in "input".';
  return new GatewayError('too_many_conversations', message);
}
