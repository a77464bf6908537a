/**
 * The terms by which a job is billed at its end, as text for the ledger: the prices and bounds of its admission,
 * because the configuration may have changed by then.
 */
import { deserialize, serialize } from 'node:v8';
import { withHighest } from '#price/sheet.ts';
import type { CompiledPrice, StatedPrice } from '#price/sheet.ts';
import type { BilledCall, BilledCandidate, BillingTerms } from './consumption.ts';

/** The terms without functions. */
interface StoredTerms extends Pick<BillingTerms, 'outputLimit'> {
  readonly bounds: Omit<BillingTerms['bounds'], 'price'> & { readonly price: StatedPrice };
  readonly candidate: Omit<BilledCandidate, 'cost' | 'costOf' | 'priceOf'> & { readonly cost: StatedPrice | undefined };
  readonly call: Omit<BilledCall, 'unbounded' | 'background' | 'together'>;
  readonly quotaType: BillingTerms['routed']['offer']['quotaType'];
}

/** Precedes terms of this shape; another shape gets another version. */
const VERSION = '1:';
/** Precedes the same shape of terms of a batch, which are those of each of its requests. */
const BATCH_VERSION = 'batch1:';

export function encodeTerms({ bounds, outputLimit, candidate, routed: { call, offer } }: BillingTerms): string {
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
  const stored: StoredTerms = {
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
  return (call.together ? BATCH_VERSION : VERSION) + serialize(stored).toString('base64');
}

/** Whether these are the terms of a batch. */
export function isOfBatch(terms: string | undefined): boolean {
  return terms?.startsWith(BATCH_VERSION) === true;
}

/** Undefined if a version of the program or of Node wrote the text that this one cannot read. */
export function decodeTerms(text: string): BillingTerms | undefined {
  const version = [VERSION, BATCH_VERSION].find((each) => text.startsWith(each));
  if (version === undefined) return undefined;
  const stored = readStored(Buffer.from(text.slice(version.length), 'base64'));
  if (!stored) return undefined;
  const { call, quotaType, candidate, bounds, outputLimit } = stored;
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

function readStored(bytes: Buffer): StoredTerms | undefined {
  try {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    return deserialize(bytes) as StoredTerms;
  } catch {
    return undefined;
  }
}
