/**
 * Which channels may serve the call: model → the group's offer → candidates in the order in which they are tried. Unknown
 * models and other groups' models get one and the same answer, so that nobody can tell them apart.
 */
import { GatewayError } from '../errors.ts';
import { RequestFault } from '../protocol/call-facts.ts';
import type { Candidate, Offer } from '../state/state.ts';
import { orderCandidates } from '../upstream/pick.ts';
import type { Authenticated, EndpointCall, PipelineDeps, Routed } from './context.ts';

/** Throws invalid_json, invalid_request, model_not_found, model_not_priced, and what the endpoint's own check says. */
export function route(deps: Pick<PipelineDeps, 'state' | 'random'>, authenticated: Authenticated): Routed {
  const call = readCall(authenticated);
  const { key } = authenticated;
  const offer = deps.state.get().groups.get(key.group)?.offers.get(call.model);
  if (!offer || (key.models && !key.models.has(call.model)) || !offer.endpoints.has(call.kind)) throw modelNotFound(call.model);
  const candidates = servable(call, offer, orderCandidates(offer.tiers, deps.random));
  const { requestId, createdMs, arrivedAt, endpoint, dialect, headers, body, read, reply, keyHash } = authenticated;
  return { requestId, createdMs, arrivedAt, endpoint, dialect, headers, body, read, reply, keyHash, key, call, offer, candidates };
}

/** The one answer for a model that this key cannot call, whatever the reason. */
export function modelNotFound(model: string): GatewayError {
  const name = model.length > 200 ? `${model.slice(0, 200)}…` : model;
  return new GatewayError('model_not_found',
    `The model "${name}" does not exist or you do not have access to it. GET /v1/models lists the models of this key.`, { param: 'model' });
}

function readCall(authenticated: Authenticated): EndpointCall {
  try {
    return authenticated.read(authenticated);
  } catch (error) {
    if (error instanceof RequestFault) throw faultError(error);
    throw error;
  }
}

/** A fault of the request in the error table's words. */
export function faultError(fault: RequestFault): GatewayError {
  return new GatewayError(fault.code, fault.message, fault.param === undefined ? {} : { param: fault.param });
}

/** The candidates that this very call may go to. Where none is left, the first one's refusal is the answer. */
function servable(call: EndpointCall, offer: Offer, ordered: readonly Candidate[]): readonly Candidate[] {
  const willing: Candidate[] = [];
  const said: Said = { served: false, priced: false, refusal: undefined };
  for (const candidate of ordered) if (isWilling(call, offer, candidate, said)) willing.push(candidate);
  if (!said.served) throw notServed(call);
  if (!said.priced) throw notPriced(call, offer);
  if (willing.length === 0) throw said.refusal;
  return willing;
}

/** How far any candidate came. */
interface Said {
  served: boolean;
  priced: boolean;
  /** The first one's. */
  refusal: unknown;
}

function isWilling(call: EndpointCall, offer: Offer, candidate: Candidate, said: Said): boolean {
  if (!candidate.model.endpoints.has(call.kind) || call.converter(candidate) === undefined) return false;
  said.served = true;
  if (candidate.price === undefined || !isBounded(call, offer, candidate)) return false;
  said.priced = true;
  try {
    call.check(candidate);
    return true;
  } catch (error) {
    said.refusal ??= error;
    return false;
  }
}

function notServed(call: EndpointCall): GatewayError {
  return call.unservable?.() ?? modelNotFound(call.model);
}

function notPriced({ model }: EndpointCall, { catalog }: Offer): GatewayError {
  const said = catalog === undefined
    ? `The model "${model}" has no price yet, so it cannot be called. Ask the platform team to add it to a PriceCatalog.`
    : `The model "${model}" has a price per token only, so it cannot be called here. Ask the platform team for a price per request (quotaType Request).`;
  return new GatewayError('model_not_priced', said, { param: 'model' });
}

/** Images and videos have no token bound: only a price per generation can be held for them. */
function isBounded(call: EndpointCall, offer: Offer, candidate: Candidate): boolean {
  return offer.quotaType === 'Request' || (call.kind !== 'Images' && call.kind !== 'Videos' && candidate.model.contextTokens > 0);
}
