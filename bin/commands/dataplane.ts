/** `mgw dataplane`: runs a proxy of a cluster. */
import { Command } from 'commander';
import { addCallFlags } from '../call-flags.ts';
import type { DataplaneFlags } from '../run/dataplane.ts';
import {
  EACH_FLAG,
  STOP_SIGNALS,
  adminFlag,
  flag,
  logLevelFlag,
  paragraphs,
  parseAddress,
  parseConsoleUrl,
  parseLedger,
  parseSeconds,
} from '../options.ts';
import { addXdsFlags } from '../xds-flags.ts';

export function dataplaneCommand(ended: (exitCode: number) => void): Command {
  const command = new Command('dataplane')
    .summary('run a proxy of a cluster, configured by mgw operator')
    .description(
      paragraphs(
        'Serves calls with the configuration that it receives from an operator over xDS. The proxy is ready ' +
          'once the configuration is complete; while no operator is reachable, it continues with the last good ' +
          'configuration.',
        STOP_SIGNALS,
        EACH_FLAG,
      ),
    );
  const connected = addXdsFlags(command, { mandatory: true })
    .addOption(
      flag('--listen <ADDRESS>', 'address for SDKs')
        .default({ host: '0.0.0.0', port: 8080 }, ':8080')
        .argParser(parseAddress),
    )
    .addOption(
      flag(
        '--tls-listen <ADDRESS>',
        'additional address for SDKs and sidecars over TLS; requires --tls (default: none)',
      ).argParser(parseAddress),
    )
    .addOption(flag('--tls <DIR>', 'folder with tls.crt and tls.key for --tls-listen, read again when they change'))
    .addOption(adminFlag())
    .addOption(flag('--data <DIR>', 'folder for the ledger file, or for the journal of a shared ledger'))
    .addOption(
      flag(
        '--ledger <URL>',
        'ledger: valkey://HOST:PORT, which all proxies of a fleet share, or file:PATH for a single proxy ' +
          '(default: ledger.db in the data folder)',
      ).argParser(parseLedger),
    )
    .addOption(
      flag(
        '--ledger-sync <MODE>',
        'durability of a ledger file: survive a crash of the process (normal), or a power failure too (full)',
      )
        .choices(['normal', 'full'])
        .default('normal'),
    )
    .addOption(
      flag(
        '--config-cache <FILE>',
        'file for the last good configuration, encrypted; the proxy starts with it while no operator is ' +
          'reachable; requires --config-cache-key',
      ),
    )
    .addOption(
      flag(
        '--max-config-age <SECONDS>',
        'seconds without an operator after which all calls are refused, because keys may have been revoked',
      )
        .default(86_400)
        .argParser(parseSeconds),
    )
    .addOption(
      flag(
        '--leave-rotation-after <SECONDS>',
        'seconds without an operator after which the proxy is no longer ready, if other proxies of the shared ' +
          'ledger have one; 0 keeps it ready',
      )
        .default(60)
        .argParser(parseSeconds),
    )
    .addOption(
      flag(
        '--config-cache-key <FILE>',
        'file with at least 32 secret bytes to encrypt the cache with, such as a mounted Secret',
      ),
    )
    .addOption(
      flag('--node-id <NAME>', 'name of this proxy if its token does not contain one (default: the hostname)'),
    );
  return addCallFlags(connected)
    .addOption(
      flag('--console-url <URL>', 'public URL of the console, for links in error messages and on pages').argParser(
        parseConsoleUrl,
      ),
    )
    .addOption(
      flag(
        '--drain-delay <SECONDS>',
        'seconds after SIGTERM during which new calls are still accepted, until load balancers have removed ' +
          'the proxy; each response closes its connection',
      )
        .default(0)
        .argParser(parseSeconds),
    )
    .addOption(logLevelFlag())
    .addOption(flag('--sidecar', 'alias of mgw sidecar, which has other flags: see mgw sidecar --help'))
    .action(async (flags: DataplaneFlags) => {
      const { runDataplane } = await import('../run/dataplane.ts');
      ended(await runDataplane(flags));
    });
}
