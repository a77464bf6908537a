/** `mgw run`: runs operator and data plane in one process, from a folder of manifests. */
import { Command, Option } from 'commander';
import { addCallFlags } from '../call-flags.ts';
import { DEFAULT_GATEWAY_NAMESPACE } from '../defaults.ts';
import {
  flag,
  logLevelFlag,
  paragraphs,
  parseAddress,
  parseConsole,
  parseConsoleUrl,
  parseLabelNames,
  parseLedger,
  parseNamespace,
  trustedProxiesFlag,
} from '../options.ts';
import type { RunFlags } from '../run/run.ts';

export function runCommand(ended: (exitCode: number) => void): Command {
  const command = new Command('run')
    .summary('the whole gateway on one machine, from a folder of manifests')
    .description(
      paragraphs(
        'Runs operator and data plane in one process. The manifests in DIR are watched: an edit is in force within a ' +
          'second; a mistake changes nothing and is printed with file and line.',
        'Logs go to standard output, one JSON object per line. SIGTERM or SIGINT: no new calls, running ones end, exit ' +
          'code 0; a second signal ends at once with 1.',
        'Every flag may be given as the environment variable that stands beside it.',
      ),
    )
    .addOption(flag('--config <DIR>', 'folder of manifests (*.yaml, *.yml, at any depth)').makeOptionMandatory())
    .addOption(
      flag('--listen <ADDRESS>', 'where SDKs call')
        .default({ host: '127.0.0.1', port: 8080 }, '127.0.0.1:8080')
        .argParser(parseAddress),
    )
    .addOption(
      flag('--admin <ADDRESS>', 'where healthz, readyz, metrics and config_dump are; keep it private')
        .default({ host: '127.0.0.1', port: 9090 }, '127.0.0.1:9090')
        .argParser(parseAddress),
    )
    .addOption(
      flag(
        '--console <ADDRESS>',
        'where people see and change keys and credit in a browser, or "off" ' +
          '(default: 127.0.0.1:8081, and nowhere if that is in use)',
      ).argParser(parseConsole),
    )
    .addOption(new Option('--no-console', 'the same as --console off'))
    .addOption(
      flag(
        '--console-url <URL>',
        'where people open the console, for the links in refusals and on pages ' +
          '(default: the address of --console)',
      ).argParser(parseConsoleUrl),
    )
    .addOption(trustedProxiesFlag())
    .addOption(
      flag(
        '--data <DIR>',
        'folder for the ledger and generated keys (default: the folder of manifests with ' +
          '.mgw-data added to its name)',
      ),
    )
    .addOption(
      flag(
        '--ledger <URL>',
        'the ledger: file:PATH (default: ledger.db in the data folder), or ' +
          'valkey://HOST:PORT, which several gateways may share',
      ).argParser(parseLedger),
    )
    .addOption(
      flag(
        '--ledger-sync <MODE>',
        'what an acknowledged step survives: the end of the process (normal), or a loss of power too (full)',
      )
        .choices(['normal', 'full'])
        .default('normal'),
    );
  return addCallFlags(command)
    .addOption(
      flag('--gateway-namespace <NAME>', 'namespace of the gateway, and of objects that name none')
        .default(DEFAULT_GATEWAY_NAMESPACE)
        .argParser(parseNamespace),
    )
    .addOption(
      flag(
        '--usage-labels <NAMES>',
        'labels that usage records carry, separated by commas: of the namespace, else of the ApiKey (default: none)',
      ).argParser(parseLabelNames),
    )
    .addOption(logLevelFlag())
    .addOption(
      flag('--with-demo-provider [ADDRESS]', 'also run the demo provider, by default on 127.0.0.1:4010').argParser(
        parseAddress,
      ),
    )
    .addOption(flag('--hello', 'print calls to try once it answers'))
    .action(async (flags: RunFlags) => {
      const { run } = await import('../run/run.ts');
      ended(await run(flags));
    });
}
