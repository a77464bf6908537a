/** `mgw dataplane`: runs a proxy of a cluster. */
import { Command } from 'commander';
import { addCallFlags } from '../call-flags.ts';
import type { DataplaneFlags } from '../run/dataplane.ts';
import {
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
    .summary('a proxy of a cluster: answers SDKs, configured by mgw operator')
    .description(
      paragraphs(
        'Takes its configuration from an operator over xDS and answers calls. Ready (readyz) once the whole ' +
          'configuration is there; while no operator answers it goes on with the last good one.',
        'SIGTERM or SIGINT: no new calls, running ones end, exit code 0; a second signal ends at once with 1.',
        'Every flag may be given as the environment variable that stands beside it.',
      ),
    );
  const connected = addXdsFlags(command, { mandatory: true })
    .addOption(
      flag('--listen <ADDRESS>', 'where SDKs call')
        .default({ host: '0.0.0.0', port: 8080 }, ':8080')
        .argParser(parseAddress),
    )
    .addOption(
      flag(
        '--tls-listen <ADDRESS>',
        'where SDKs and sidecars call over TLS, besides; needs --tls (default: nowhere)',
      ).argParser(parseAddress),
    )
    .addOption(flag('--tls <DIR>', 'a folder with tls.crt and tls.key for that; loaded again when they change'))
    .addOption(
      flag('--admin <ADDRESS>', 'where healthz, readyz, metrics and config_dump are; keep it private')
        .default({ host: '127.0.0.1', port: 9090 }, '127.0.0.1:9090')
        .argParser(parseAddress),
    )
    .addOption(flag('--data <DIR>', "folder for the ledger's file, or for the journal of a shared ledger"))
    .addOption(
      flag(
        '--ledger <URL>',
        'the ledger: valkey://HOST:PORT, which all proxies of a fleet share, or ' +
          'file:PATH for a single one (default: ledger.db in the data folder)',
      ).argParser(parseLedger),
    )
    .addOption(
      flag('--ledger-sync <MODE>', 'of a file: what an acknowledged step survives')
        .choices(['normal', 'full'])
        .default('normal'),
    )
    .addOption(
      flag(
        '--config-cache <FILE>',
        'keep the last good configuration there, encrypted, and start with it ' +
          'while no operator answers; needs --config-cache-key',
      ),
    )
    .addOption(
      flag(
        '--max-config-age <SECONDS>',
        'without an operator for this long, calls are refused, since keys may have been revoked meanwhile',
      )
        .default(86_400)
        .argParser(parseSeconds),
    )
    .addOption(
      flag(
        '--leave-rotation-after <SECONDS>',
        'without an operator for this long while other proxies of a shared ledger have one, it is not ready; 0: it stays ' +
          'ready',
      )
        .default(60)
        .argParser(parseSeconds),
    )
    .addOption(
      flag(
        '--config-cache-key <FILE>',
        'a file with at least 32 secret bytes, kept elsewhere than the cache: a mounted Secret',
      ),
    )
    .addOption(
      flag('--node-id <NAME>', "what this proxy calls itself where its token does not say (default: the host's name)"),
    );
  return addCallFlags(connected)
    .addOption(
      flag('--console-url <URL>', 'where people open the console, for the links in refusals and on pages').argParser(
        parseConsoleUrl,
      ),
    )
    .addOption(
      flag(
        '--drain-delay <SECONDS>',
        'so long after SIGTERM new calls are still taken, each answer closing ' +
          'its connection: until load balancers know',
      )
        .default(0)
        .argParser(parseSeconds),
    )
    .addOption(logLevelFlag())
    .addOption(
      flag('--sidecar', 'not a proxy of the fleet but one beside an app, with flags of its own: mgw sidecar --help'),
    )
    .action(async (flags: DataplaneFlags) => {
      const { runDataplane } = await import('../run/dataplane.ts');
      ended(await runDataplane(flags));
    });
}
