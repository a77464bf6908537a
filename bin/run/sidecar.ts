/**
 * `mgw sidecar`: checks the flags, and runs a sidecar until a signal ends it. It imports little, because an app waits
 * for the sidecar when it starts.
 */
import { openSidecar } from '../../programs/sidecar.ts';
import type { RunningSidecar } from '../../programs/sidecar.ts';
import { createLogger } from '../../dataplane/telemetry/log.ts';
import type { LogOptions } from '../../dataplane/telemetry/log.ts';
import { CommandFailed, EXIT } from '../exit-codes.ts';
import { urlOf } from '../options.ts';
import type { ListenAddress } from '../../dataplane/listen.ts';
import { VERSION } from '../version.ts';
import { explainListen } from './listen-errors.ts';
import { listenStopSignals, logEnded } from './stop-signals.ts';
import { PROCESS_STATS, standardOutput } from './output.ts';

/** The flags of `mgw sidecar`, parsed. */
export interface SidecarFlags {
  readonly fleet: string;
  /** A file's path, or PEM. */
  readonly fleetCa?: string;
  readonly insecureFleet?: boolean;
  readonly keyFile: string;
  readonly listen: ListenAddress;
  readonly admin: ListenAddress;
  readonly logLevel: NonNullable<LogOptions['level']>;
}

/** Runs until a signal stops it; resolves with the exit code. */
export async function runSidecar(flags: SidecarFlags): Promise<number> {
  check(flags);
  const signals = listenStopSignals();
  const log = createLogger({ level: flags.logLevel, to: standardOutput() });
  const sidecar = await open(flags, log);
  const address = urlOf({ ...flags.listen, port: sidecar.port });
  const admin = urlOf({ ...flags.admin, port: sidecar.adminPort });
  log.info({ address, admin, fleet: flags.fleet }, 'the sidecar is listening');
  const signal = await signals.first;
  log.info({ signal }, 'shutting down: waiting for running calls');
  await sidecar.stop();
  return logEnded(signals, log);
}

async function open(flags: SidecarFlags, log: ReturnType<typeof createLogger>): Promise<RunningSidecar> {
  try {
    return await openSidecar({ ...flags, version: VERSION, process: PROCESS_STATS, log });
  } catch (error) {
    throw explainListen(error, [
      { flag: '--listen', ...flags.listen },
      { flag: '--admin', ...flags.admin },
    ]);
  }
}

const LOOPBACK = /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;

/** Validates the flags before anything starts. */
function check({ fleet, insecureFleet }: SidecarFlags): void {
  const url = URL.parse(fleet);
  if (!url || !isAddress(url)) {
    throw new CommandFailed(
      `--fleet ${url?.password ? 'with a password' : fleet}: it must be an https URL, ` +
        'such as https://model-gateway-tls.model-gateway.svc.',
      EXIT.usage,
    );
  }
  if (url.protocol === 'https:' || insecureFleet || LOOPBACK.test(url.hostname)) return;
  throw new CommandFailed(
    `--fleet ${fleet}: without TLS, the key is sent unencrypted. Use https, or allow it with --insecure-fleet.`,
    EXIT.usage,
  );
}

/** True for an http or https URL without credentials and fragment. */
function isAddress({ protocol, username, password, hash }: URL): boolean {
  return (protocol === 'https:' || protocol === 'http:') && `${username}${password}${hash}` === '';
}
