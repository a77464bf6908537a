/** Calls as CSV, for the downloads of all pages that list calls. */
import { usageCsv } from '#usage/csv.ts';
import type { CallQuery, UsageStore } from '../data/usage.ts';
import type { DownloadedFile, PageRequest } from '../route.ts';
import { seesMargins } from './margins.ts';
import { groupNames } from './names.ts';

/** Characters that are sent at once. */
const PIECE = 32_768;

/** The calls of a query, with the columns that the person may see and the display names of groups. */
export async function callsFile(
  request: Pick<PageRequest, 'person' | 'deps'>,
  name: string,
  { usage, query }: { readonly usage: UsageStore; readonly query: CallQuery },
): Promise<DownloadedFile> {
  const csv = usageCsv({ margins: await seesMargins(request) });
  const groups = groupNames(request.deps);

  /** Account by account, so that at most one batch is in memory. */
  async function* content(): AsyncGenerator<string> {
    let piece = csv.head;
    for (const account of query.accounts) {
      for await (const record of usage.records({ ...query, accounts: [account] })) {
        piece += csv.row({ ...record, group: groups.get(record.group) ?? record.group });
        if (piece.length < PIECE) continue;
        yield piece;
        piece = '';
      }
    }
    yield piece;
  }
  return { name, contentType: 'text/csv; charset=utf-8', content: content() };
}
