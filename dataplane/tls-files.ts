/** The certificate of a proxy's TLS port, from the files of a mounted Secret, reloaded when they change. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { pollFiles } from './polled-files.ts';
import type { TlsMaterial } from './server/tls-listener.ts';

const EVERY_MS = 5000;

/** Reads both files. Rejects with a message for operators if one cannot be read. */
export async function readTlsFiles(folder: string): Promise<TlsMaterial> {
  try {
    const [certificate, key] = await Promise.all(pathsIn(folder).map((path) => readFile(path, 'utf8')));
    return { certificate: certificate ?? '', key: key ?? '' };
  } catch (error) {
    throw new Error('tls.crt and tls.key must exist and be readable by this user.', { cause: error });
  }
}

interface TlsFilesOptions {
  readonly renew: (material: TlsMaterial) => void;
  readonly log: Pick<Logger, 'info' | 'error'>;
}

/** Reloads the pair whenever it changes. An invalid pair is logged, and the previous one stays in use. */
export async function watchTlsFiles(folder: string, { renew, log }: TlsFilesOptions): Promise<void> {
  let first = true;
  await pollFiles({
    paths: pathsIn(folder),
    everyMs: EVERY_MS,
    onRead([certificate = '', key = '']) {
      try {
        renew({ certificate, key });
        if (!first) log.info('loaded another certificate');
      } catch (error) {
        log.error({ err: error }, 'cannot use the certificate; the previous one stays in use');
      }
      first = false;
    },
  });
}

function pathsIn(folder: string): string[] {
  return [join(folder, 'tls.crt'), join(folder, 'tls.key')];
}
