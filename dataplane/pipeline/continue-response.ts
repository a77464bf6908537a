/**
 * Continues a response that the gateway keeps: puts its items into the request's body, which then is a call with its
 * whole conversation for every stage that follows, its money and its limits among them.
 */
import { GatewayError } from '../errors.ts';
import { MAX_KEPT_BYTES } from '../kept/kept-responses.ts';
import type { KeptResponse } from '../kept/kept-responses.ts';
import { HeldBytes } from '../memory-budget.ts';
import { unkeptState } from '../protocol/openai/response-facts.ts';
import { mayUse } from '../state/may-use.ts';
import type { KeyState } from '../state/state.ts';
import type { Authenticated, PipelineDeps } from './context.ts';

const PARAM = 'previous_response_id';

/**
 * Rejects with unsupported_parameter if the account has no such response here or the key may not call its model,
 * with a refusal for lack of memory, and with LedgerUnavailable.
 */
export async function continueResponse(
  deps: Pick<PipelineDeps, 'kept' | 'state' | 'memory'>,
  { key, received: { body } }: Authenticated,
  id: string,
): Promise<void> {
  const held = new HeldBytes(deps.memory, key);
  try {
    const found = await findKept(deps, key, { id, hold: (bytes) => held.set(bytes) });
    if (!found) throw deps.kept ? noSuchResponse() : unkeptState(PARAM);
    const { input, response } = found;
    await body.continueFrom({ input, response }, () => held.set(0));
    held.set(body.bytes.length);
  } catch (error) {
    held.set(0);
    throw error;
  }
}

interface Wanted {
  readonly id: string;
  /** Sets how many bytes reading it takes; may throw. */
  readonly hold: (bytes: number) => void;
}

/** A response that the gateway keeps for the key's account, of a model that the key may call. */
export async function findKept(
  { kept, state }: Pick<PipelineDeps, 'kept' | 'state'>,
  key: Pick<KeyState, 'account' | 'group' | 'models'>,
  { id, hold }: Wanted,
): Promise<KeptResponse | undefined> {
  const { sealingKeys } = state.get();
  const found = sealingKeys && (await kept?.read({ account: key.account, id }, sealingKeys.reveal(), hold));
  return found && mayUse(state.get(), key, found.model) ? found : undefined;
}

function noSuchResponse(): GatewayError {
  const message =
    'This account has no such response here: it was deleted, has expired, was larger than ' +
    `${MAX_KEPT_BYTES / 2 ** 20} MiB, or was made with "store": false. Send the whole conversation in "input".`;
  return new GatewayError('unsupported_parameter', message, { param: PARAM });
}
