/**
 * Makes one attempt at one channel: converts the request, sends it, and waits for the response's headers, and for the
 * first chunk of a stream. A failure is returned as a value, so that the next channel can be tried.
 */
import type { Converter, UpstreamBody } from '../protocol/converter.ts';
import type { PlatformPlan } from '../protocol/platforms/platform-request.ts';
import { sessionOf } from './affinity.ts';
import { planRequest, sendToChannel } from './channel-call.ts';
import type { Admitted, Answered, CallRecord, PipelineDeps } from './context.ts';
import { lacksEndpoint } from './failures.ts';
import type { AttemptFailure, Unserved } from './failures.ts';
import { holdTurn } from './conversation-turn.ts';
import { holdInput, storageOf } from './keep-response.ts';
import { clientErrorOf } from './route.ts';
import { sealingContext } from './sealing-context.ts';

/** Throws GatewayError (unsupported_parameter) if the channel's protocol cannot express the request. */
export async function attempt(
  deps: PipelineDeps,
  admitted: Admitted,
  record: CallRecord,
): Promise<Answered | AttemptFailure | Unserved> {
  const {
    candidate,
    routed: { call, key, received },
  } = admitted;
  const converter = call.converter(candidate);
  if (!converter) throw new Error('the call was routed to a candidate that cannot serve its endpoint');
  const sender = { headers: received.headers, account: key.account, stream: call.stream };
  const plan = planRequest(deps, candidate, sender);
  const written = await convertRequest(deps, admitted, { converter, platform: plan.platform });
  const { path, body, contentType, notes, dropped } = written;
  holdTurn(deps, record, admitted.routed);
  holdInput(deps, record, { key, input: notes?.keptInput });
  const { attempts, abort } = record;
  const request = { method: 'POST', path, body, contentType, dropped, signal: abort.signal } as const;
  const goesOn = call.together !== undefined;
  const result = await sendToChannel(deps, plan, { ...request, attempts, record, needsContent: true, goesOn });
  if (!('kind' in result)) return { admitted, converter, notes, dropped, response: result };
  return call.optional === true && lacksEndpoint(result) ? { kind: 'Unserved' } : result;
}

async function convertRequest(
  deps: PipelineDeps,
  { candidate, routed, outputLimit }: Admitted,
  { converter, platform }: { readonly converter: Converter; readonly platform: PlatformPlan | undefined },
): Promise<UpstreamBody> {
  const {
    call,
    received: { body },
  } = routed;
  try {
    return await body.convert(converter, candidate.target.protocol, {
      upstreamModel: candidate.upstreamModel,
      maxOutputTokens: call.output ? outputLimit : undefined,
      stream: call.stream,
      outputLimitField: candidate.model.outputLimitField,
      capabilities: candidate.model.capabilities,
      providerTools: candidate.model.providerTools,
      session: sessionOf(routed.received),
      sealing: sealingContext(deps.state.get(), routed.key, candidate),
      platform,
      storage: storageOf(deps, routed),
    });
  } catch (error) {
    throw clientErrorOf(error);
  }
}
