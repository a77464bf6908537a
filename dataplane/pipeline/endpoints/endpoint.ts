/**
 * An endpoint as data: what the facts of a request's body mean there. An endpoint says only in what it differs from one
 * without output tokens and choices; callOf makes of it what the pipeline reads of every call.
 */
import type { GatewayError } from '../../errors.ts';
import type { Converter } from '../../protocol/converter.ts';
import type { Uses } from '#price/price.ts';
import type { Candidate, EndpointKind } from '../../state/state.ts';
import type { EndpointCall, Received } from '../context.ts';

/** What a request says that is the same on every candidate; `model` alone is always said. */
export type Asks = Pick<EndpointCall, 'model'> & Partial<Omit<EndpointCall, 'model' | keyof Endpoint<never>>>;

export interface Endpoint<Facts> {
  /** The models that it calls. */
  readonly kind: EndpointKind;
  /** Reads the body. Rejects with RequestFault if it is malformed, or a field that the gateway reads is wrong. */
  read(received: Received): Promise<Facts>;
  asks(facts: Facts): Asks;
  /** Undefined: the candidate's provider cannot serve it. */
  converter(facts: Facts, candidate: Candidate): Converter | undefined;
  /** Absent: it is served by a converter. */
  serves?(candidate: Candidate): boolean;
  /** Throws GatewayError for what the candidate's model does not allow. Absent: everything is allowed. */
  check?(facts: Facts, candidate: Candidate, received: Received): void;
  /** Absent: its input has no tokens. */
  boundInput?(facts: Facts, candidate: Candidate): number;
  estimateInput?(facts: Facts, candidate: Candidate): number;
  /** Absent: it uses no tools of the provider. */
  uses?(facts: Facts, candidate: Candidate): Uses;
  /** Absent: the price of every request has a bound. */
  unbounded?(facts: Facts, candidate: Candidate, received: Received): boolean;
  /** `candidates`: those of the model, none of which can serve it. Absent or undefined: model_not_found. */
  unservable?(facts: Facts, candidates: readonly Candidate[]): GatewayError | undefined;
}

const PLAIN = {
  stream: false,
  output: undefined,
  generations: 1,
  oneHourCache: false,
  asksForReasoning: false,
  wantsStreamUsage: false,
} as const;
const NO_USES = {};

/** Reads requests to an endpoint. */
export function readerOf<Facts>(endpoint: Endpoint<Facts>): (received: Received) => Promise<EndpointCall> {
  return async (received) => callOf(endpoint, await endpoint.read(received), received);
}

/** What the facts of a request mean at an endpoint. */
export function callOf<Facts>(endpoint: Endpoint<Facts>, facts: Facts, received: Received): EndpointCall {
  return {
    ...PLAIN,
    ...endpoint.asks(facts),
    kind: endpoint.kind,
    check: (candidate) => endpoint.check?.(facts, candidate, received),
    boundInput: (candidate) => endpoint.boundInput?.(facts, candidate) ?? 0,
    estimateInput: (candidate) => endpoint.estimateInput?.(facts, candidate) ?? 0,
    uses: (candidate) => endpoint.uses?.(facts, candidate) ?? NO_USES,
    unbounded: (candidate) => endpoint.unbounded?.(facts, candidate, received) ?? false,
    converter: (candidate) => endpoint.converter(facts, candidate),
    ...(endpoint.serves && { serves: (candidate: Candidate) => endpoint.serves?.(candidate) ?? false }),
    unservable: (candidates) => endpoint.unservable?.(facts, candidates),
  };
}
