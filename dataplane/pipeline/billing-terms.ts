/**
 * The terms by which a job is billed at its end, as text for the ledger: the prices and bounds of its admission,
 * because the configuration may have changed by then.
 */
import { deserialize, serialize } from 'node:v8';
import { withHighest } from '#price/sheet.ts';
import type { CompiledPrice, StatedPrice } from '#price/sheet.ts';
import type { BilledCall, BilledCandidate, BillingTerms } from './consumption.ts';
import type { BatchModel } from './context.ts';

/** The terms without functions. */
interface StoredTerms extends Pick<BillingTerms, 'outputLimit'> {
  readonly bounds: Omit<BillingTerms['bounds'], 'price'> & { readonly price: StatedPrice };
  readonly candidate: Omit<BilledCandidate, 'cost' | 'costOf' | 'priceOf'> & { readonly cost: StatedPrice | undefined };
  readonly call: Omit<BilledCall, 'unbounded' | 'background' | 'together' | 'models'>;
  readonly quotaType: BillingTerms['routed']['offer']['quotaType'];
}

/** Precedes terms of this shape; another shape gets another version. */
const VERSION = '1:';
/** Precedes the same shape of terms of a batch, which are those of each of its requests. */
const BATCH_VERSION = 'batch1:';
/**
 * Precedes a list of such terms, one for each model of a batch. A program that does not know it takes it for terms of a
 * batch that it cannot read, and leaves the batch to others.
 */
const MODELS_VERSION = `${BATCH_VERSION}models:`;

export function encodeTerms(terms: BillingTerms): string {
  const { call } = terms.routed;
  if (call.models) return MODELS_VERSION + textOf(call.models.map((model) => storedOf(termsOfModel(terms, model))));
  return (call.together ? BATCH_VERSION : VERSION) + textOf(storedOf(terms));
}

function textOf(stored: StoredTerms | readonly StoredTerms[]): string {
  return serialize(stored).toString('base64');
}

/** The terms of the batch for the requests of one of its models. */
function termsOfModel({ routed }: BillingTerms, model: BatchModel): BillingTerms {
  const { candidate, bounds, asksForReasoning, modalities } = model;
  const call = { ...routed.call, asksForReasoning, modalities };
  return { bounds, outputLimit: bounds.outputTokens, candidate, routed: { ...routed, call } };
}

function storedOf({ bounds, outputLimit, candidate, routed: { call, offer } }: BillingTerms): StoredTerms {
  const { price, reach, requestTokens, inputTokens, estimatedInputTokens } = bounds;
  const {
    clientDisconnect,
    onTimeout,
    upstreamModel,
    cost,
    model: { reasoning },
  } = candidate;
  const { output, generations, made, serviceTier, region, modalities, stream, asksForReasoning, onlyTier, batchOf } =
    call;
  return {
    bounds: { price: statedOf(price), reach, requestTokens, inputTokens, estimatedInputTokens },
    outputLimit,
    candidate: { clientDisconnect, onTimeout, upstreamModel, cost: cost && statedOf(cost), model: { reasoning } },
    call: {
      output,
      generations,
      made,
      serviceTier,
      region,
      stream,
      asksForReasoning,
      ...(modalities && { modalities }),
      ...(onlyTier !== undefined && { onlyTier }),
      ...(batchOf !== undefined && { batchOf }),
    },
    quotaType: offer.quotaType,
  };
}

/** Whether these are the terms of a batch. */
export function isOfBatch(terms: string | undefined): boolean {
  return terms?.startsWith(BATCH_VERSION) === true;
}

/** The terms of a single call. Undefined if another version of the program or of Node wrote them in an unknown form. */
export function decodeTerms(text: string): BillingTerms | undefined {
  const stored = readStored(text, VERSION);
  return stored && termsIn(stored);
}

/** The same of a batch: its terms for each of its models. */
export function decodeBatchTerms(text: string): readonly BillingTerms[] | undefined {
  // encodeTerms wrote it
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  const models = readVersion(text, MODELS_VERSION) as readonly StoredTerms[] | undefined;
  const stored = models ?? [readStored(text, BATCH_VERSION)];
  return stored.every((each) => each !== undefined) ? stored.map(termsIn) : undefined;
}

function termsIn({ call, quotaType, candidate, bounds, outputLimit }: StoredTerms): BillingTerms {
  return {
    bounds: { ...bounds, price: withHighest(bounds.price) },
    outputLimit,
    // such jobs make no requests to other models, and have no use without a bound
    candidate: {
      ...candidate,
      cost: candidate.cost && withHighest(candidate.cost),
      costOf: () => undefined,
      priceOf: () => undefined,
    },
    routed: { call: { ...call, unbounded: () => false }, offer: { quotaType } },
  };
}

/** What follows from its rates is worked out again when it is read. */
function statedOf({ highest: _derived, ...price }: CompiledPrice): StatedPrice {
  return price;
}

function readStored(text: string, version: string): StoredTerms | undefined {
  // encodeTerms wrote it
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return readVersion(text, version) as StoredTerms | undefined;
}

/** Undefined for another version, also of Node. */
function readVersion(text: string, version: string): unknown {
  if (!text.startsWith(version)) return undefined;
  try {
    return deserialize(Buffer.from(text.slice(version.length), 'base64'));
  } catch {
    return undefined;
  }
}
