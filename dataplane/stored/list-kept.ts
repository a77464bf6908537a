/**
 * Lists what an account keeps at providers. All accounts of the gateway share one account of the provider, so that its
 * own lists are read page by page, and what belongs to others is left out. Channels come one after the other.
 */
import { GatewayError } from '../errors.ts';
import type { PipelineDeps } from '../pipeline/context.ts';
import { readAs, readWholeBody, withLimits } from '../pipeline/free-request.ts';
import { isRecord, itemsOf, textOf } from '../protocol/fields.ts';
import type { JsonRecord } from '../protocol/fields.ts';
import { parseObject } from '../protocol/json-value.ts';
import { callerLimits } from '../state/limits.ts';
import { senderTo } from './client-request.ts';
import type { ClientRequest, Exchange, SendToChannel } from './client-request.ts';
import type { StoringChannel } from './stored-object.ts';

export type ListedChannel = Pick<StoringChannel, 'channel' | 'seal'>;

export interface Listing {
  readonly about: Exchange<never>['about'];
  /** Below the channel's base URL. */
  readonly path: string;
  readonly channels: readonly ListedChannel[];
  /** After what the list begins; undefined: at its start. */
  readonly after: { readonly id: string; readonly channel: string } | undefined;
  readonly limit: number;
  /** The name of the query's field for the last id of the page before. */
  readonly cursor: 'after' | 'after_id';
  /** The item as the client gets it; undefined: it belongs to another account. */
  readonly own: (item: JsonRecord, at: ListedChannel) => Promise<JsonRecord | undefined>;
}

export interface ListedPage {
  readonly items: readonly JsonRecord[];
  readonly hasMore: boolean;
}

/** How many items a page of the provider has. */
const PAGE_ITEMS = 100;
/** How many pages of one channel are looked through for one request. */
const MAX_PAGES = 20;

/** Counts once in the limits of the caller, and of each channel. Rejects as a call does, and with LedgerUnavailable. */
export function listKept(deps: PipelineDeps, request: ClientRequest, listing: Listing): Promise<ListedPage> {
  const { requestId: callId, errorDialect: dialect, key } = request;
  return withLimits(deps, { callId, dialect }, callerLimits(deps.state.get(), key), () =>
    listAll(deps, request, listing),
  );
}

async function listAll(deps: PipelineDeps, request: ClientRequest, listing: Listing): Promise<ListedPage> {
  const { channels, after, limit } = listing;
  const first = after ? channels.findIndex(({ channel }) => channel.target.id === after.channel) : 0;
  if (first < 0) return { items: [], hasMore: false };
  const items: JsonRecord[] = [];
  for (const [index, at] of channels.slice(first).entries()) {
    const from = index === 0 ? after?.id : undefined;
    const free = { callId: `${request.requestId}/${index}`, dialect: request.errorDialect };
    const send = senderTo(deps, request, at);
    const list = { listing, at, from, wanted: limit + 1 - items.length, send };
    items.push(...(await withLimits(deps, free, at.channel.limits, () => listAt(request, list))));
    // one more than is asked for tells that there are more
    if (items.length > limit) return { items: items.slice(0, limit), hasMore: true };
  }
  return { items, hasMore: false };
}

interface ChannelListing {
  readonly listing: Listing;
  readonly at: ListedChannel;
  /** The provider's id of the item after which it begins. */
  readonly from: string | undefined;
  readonly wanted: number;
  readonly send: SendToChannel;
}

async function listAt(request: ClientRequest, list: ChannelListing): Promise<JsonRecord[]> {
  const { listing, at, wanted } = list;
  const own: JsonRecord[] = [];
  let { from } = list;
  for (let pages = 0; pages < MAX_PAGES; pages++) {
    const page = await readPage(request, { ...list, from });
    const found = await Promise.all(page.items.map((item) => listing.own(item, at)));
    own.push(...found.filter((item) => item !== undefined));
    from = textOf(page.items.at(-1)?.['id']);
    if (own.length >= wanted || !page.hasMore || from === undefined) break;
  }
  return own.slice(0, wanted);
}

async function readPage(
  { hold }: ClientRequest,
  { listing: { about, path, cursor }, from, send }: ChannelListing,
): Promise<ListedPage> {
  const query = new URLSearchParams({
    limit: String(PAGE_ITEMS),
    ...(about === 'file' && { purpose: 'batch' }),
    ...(from !== undefined && { [cursor]: from }),
  });
  try {
    const sent = { about, method: 'GET', path, query: query.toString(), body: undefined, stream: false } as const;
    const bytes = await readWholeBody(await send(sent), { about, hold });
    const { data, has_more: hasMore } = await readAs(about, () => parseObject(bytes));
    return { items: itemsOf(data).filter(isRecord), hasMore: hasMore === true };
  } catch (error) {
    // a provider without such a list has nothing in it
    if (error instanceof GatewayError && error.code === 'not_found') return { items: [], hasMore: false };
    throw error;
  }
}

const DEFAULT_LIMIT = 20;
const MAX_LIMIT = 100;

/** The query's `limit`. Throws invalid_request. */
export function readLimit(query: URLSearchParams): number {
  const text = query.get('limit');
  if (text === null) return DEFAULT_LIMIT;
  const limit = /^\d{1,6}$/.test(text) ? Number(text) : 0;
  if (limit < 1)
    throw new GatewayError('invalid_request', '"limit" must be a number of at least 1.', { param: 'limit' });
  return Math.min(limit, MAX_LIMIT);
}
