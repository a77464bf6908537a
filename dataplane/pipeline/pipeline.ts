/**
 * The order of a call. Each stage takes what the one before it made and adds to it (context.ts); any of them throws a
 * GatewayError; settle runs exactly once, whatever happened: success, error, provider cut, client gone; and only then do the
 * last bytes go out, so that nobody sees the end of a call that is not in the books.
 */
import type { CallRecord, Ending, PipelineDeps, Received } from './context.ts';
import { authenticate } from './authenticate.ts';
import { route } from './route.ts';
import { forward } from './forward.ts';
import { relay } from './relay.ts';
import { endingOf, settle } from './settle.ts';
import { answer } from './answer.ts';
import { report } from './report.ts';

/** Serves one billed call from its body to its last byte. Never rejects: every error is told to the client. */
export async function handleCall(deps: PipelineDeps, received: Received): Promise<void> {
  const record = openRecord(deps, received);
  let ending: Ending;
  try {
    const authenticated = record.authenticated = authenticate(deps, received);    // key hash → key
    const routed = record.routed = route(deps, authenticated);                    // model → candidates, in order
    const forwarded = await forward(deps, routed, record);                        // admit (slots, money) and send, channel after channel
    ending = await relay(deps, forwarded, record);                                // convert back, meter; all but the last bytes
  } catch (error) {
    ending = endingOf(deps, record, error);
  }
  const settled = await settle(deps, record, ending);                             // price, replace the hold, free the slots, record
  const told = answer(deps, received, record, settled);
  report(deps, received, record, { settled, told });
}

function openRecord({ state }: PipelineDeps, { requestId }: Received): CallRecord {
  return {
    requestId,
    generation: state.generation,
    attempts: [],
    authenticated: undefined,
    routed: undefined,
    admitted: undefined,
    watched: false,
    sent: false,
    meter: undefined,
    produced: false,
    jobId: undefined,
    abort: new AbortController(),
    lost: false,
    firstByteAt: undefined,
  };
}
