/** `mgw run`: runs operator and data plane in one process, from a folder of manifests. */
import { Command, Option } from 'commander';
import { addCallFlags } from '../call-flags.ts';
import {
  EACH_FLAG,
  STOP_SIGNALS,
  adminFlag,
  flag,
  gatewayNamespaceFlag,
  logLevelFlag,
  paragraphs,
  parseAddress,
  parseConsole,
  parseConsoleUrl,
  parseFirstPort,
  parseLedger,
  trustedProxiesFlag,
  usageLabelsFlag,
} from '../options.ts';
import type { RunFlags } from '../run/run.ts';

export function runCommand(ended: (exitCode: number) => void): Command {
  const command = new Command('run')
    .summary('run the gateway on one machine, from a folder of manifests')
    .description(
      paragraphs(
        'Runs the operator and the data plane in one process. The manifests in DIR are watched: an edit takes ' +
          'effect within a second. If a file is invalid, the last good configuration stays in effect and the ' +
          'errors are printed with file and line.',
        `Logs go to standard output, one JSON object per line. ${STOP_SIGNALS}`,
        EACH_FLAG,
      ),
    )
    .addOption(flag('--config <DIR>', 'folder of manifests (*.yaml, *.yml, at any depth)').makeOptionMandatory())
    .addOption(
      flag('--listen <ADDRESS>', 'address for SDKs')
        .default({ host: '127.0.0.1', port: 8080 }, '127.0.0.1:8080')
        .argParser(parseAddress),
    )
    .addOption(adminFlag())
    .addOption(
      flag(
        '--console <ADDRESS>',
        'address of the console, or "off" (default: 127.0.0.1:8081, or off if that port is in use)',
      ).argParser(parseConsole),
    )
    .addOption(new Option('--no-console', 'the same as --console off'))
    .addOption(
      flag(
        '--console-url <URL>',
        'public URL of the console, for links in error messages and on pages (default: the address of --console)',
      ).argParser(parseConsoleUrl),
    )
    .addOption(trustedProxiesFlag())
    .addOption(
      flag(
        '--data <DIR>',
        'folder for the ledger and generated keys (default: the folder of manifests with .mgw-data appended to ' +
          'its name)',
      ),
    )
    .addOption(
      flag(
        '--ledger <URL>',
        'ledger: file:PATH, or valkey://HOST:PORT, which several gateways can share (default: ledger.db in the ' +
          'data folder)',
      ).argParser(parseLedger),
    )
    .addOption(
      flag(
        '--ledger-sync <MODE>',
        'durability of the ledger file: survive a crash of the process (normal), or a power failure too (full)',
      )
        .choices(['normal', 'full'])
        .default('normal'),
    );
  return addCallFlags(command)
    .addOption(gatewayNamespaceFlag())
    .addOption(usageLabelsFlag())
    .addOption(logLevelFlag())
    .addOption(
      flag('--with-demo-provider [ADDRESS]', 'also run the demo provider (default address: 127.0.0.1:4010)').argParser(
        parseAddress,
      ),
    )
    .addOption(
      flag(
        '--first-port <NUMBER>',
        'first of four ports on 127.0.0.1, for --listen, --console, --admin and --with-demo-provider where these ' +
          'have no address (default: 8080, 8081, 9090, 4010)',
      ).argParser(parseFirstPort),
    )
    .addOption(flag('--hello', 'print example calls after the start'))
    .action(async (flags: RunFlags) => {
      const [{ run }, { withFirstPort }] = await Promise.all([import('../run/run.ts'), import('../run/first-port.ts')]);
      const isDefault = (name: string): boolean => command.getOptionValueSource(name) === 'default';
      ended(await run({ ...flags, ...withFirstPort(flags, isDefault) }));
    });
}
