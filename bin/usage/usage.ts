/** Implements `mgw usage`: reads the selected records, and writes them as they arrive. */
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { LedgerUnavailable } from '#ledger/spending.ts';
import { readUsageFile } from '../../dataplane/ledger/embedded/usage-file.ts';
import type { UsageFilter } from '#usage/filter.ts';
import type { UsageRecord } from '#usage/record.ts';
import { CommandFailed, EXIT } from '../exit-codes.ts';
import type { LedgerLocation } from '../../programs/ledger-location.ts';
import { defaultDataFolder } from '../run/data-folder.ts';
import { usageWriter } from './format.ts';
import type { UsageFormat } from './format.ts';
import { sumWriter } from './sums.ts';

interface UsageRequest {
  readonly place: LedgerLocation | undefined;
  readonly data: string | undefined;
  readonly config: string | undefined;
  readonly format: UsageFormat;
  readonly margins: boolean;
  /** What the records are summed by; undefined: each is printed. */
  readonly by: string | undefined;
  readonly filter: UsageFilter;
}

/** Resolves with the exit code. */
export async function printUsage(request: UsageRequest): Promise<number> {
  const writer =
    request.by === undefined ? usageWriter(request.format, request) : sumWriter(request.by, request.format);
  // the reader may stop early, as head does
  process.stdout.once('error', (error: NodeJS.ErrnoException) =>
    process.exit(error.code === 'EPIPE' ? EXIT.ok : EXIT.failed),
  );
  let begun = false;
  for await (const record of readRecords(request)) {
    // prints the header only after a record was read, so that for an unreadable ledger only the error appears
    if (!begun) await print(writer.begin);
    begun = true;
    await print(writer.row(record));
  }
  await print(begun ? writer.end() : writer.begin + writer.end());
  return EXIT.ok;
}

/** The records of a ledger. Throws CommandFailed if it cannot be read. */
export async function* readRecords({
  place,
  data,
  config,
  filter,
}: Omit<UsageRequest, 'format' | 'margins' | 'by'>): AsyncGenerator<UsageRecord> {
  if (place?.kind === 'valkey') {
    const { openValkeyReader } = await import('../../dataplane/ledger/valkey-reader.ts');
    const reader = openValkeyReader(place.url);
    try {
      yield* reader.records(filter);
    } catch (error) {
      if (error instanceof LedgerUnavailable) throw new CommandFailed(error.message, undefined, error);
      throw error;
    } finally {
      reader.close();
    }
    return;
  }
  const path = place?.path ?? defaultFile(data, config);
  if (!existsSync(path)) throw new CommandFailed(`${path}: no such ledger`);
  try {
    yield* readUsageFile(path, filter);
  } catch (error) {
    throw new CommandFailed(
      `${path} cannot be read as a ledger: ${error instanceof Error ? error.message : String(error)}`,
      undefined,
      error,
    );
  }
}

function defaultFile(data: string | undefined, config: string | undefined): string {
  const folder = data ?? (config === undefined ? undefined : defaultDataFolder(config));
  if (folder === undefined)
    throw new CommandFailed('No ledger: pass --ledger URL, --data DIR or --config DIR.', EXIT.usage);
  return join(folder, 'ledger.db');
}

/** Waits if the reader is slower than the ledger. */
async function print(text: string): Promise<void> {
  if (!process.stdout.write(text)) await once(process.stdout, 'drain');
}
