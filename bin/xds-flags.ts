/** The flags of commands that take their configuration from an operator. */
import { access, constants } from 'node:fs/promises';
import type { Command } from 'commander';
import { CommandFailed, EXIT } from './exit-codes.ts';
import { flag, isLoopback, parseHostPorts } from './options.ts';

export interface XdsFlags {
  /** Each is "host:port". */
  readonly xds: readonly string[];
  readonly xdsCa: string;
  readonly tokenFile: string;
  readonly insecureXds?: boolean;
}

/** Adds where operators are, and how both sides trust one another. */
export function addXdsFlags(command: Command, { mandatory }: { readonly mandatory: boolean }): Command {
  return command
    .addOption(
      flag(
        '--xds <HOST:PORT>',
        'address of the operator; may be repeated (comma-separated in MGW_XDS). Any address of a name with ' +
          'several is used',
      )
        .argParser(parseHostPorts)
        .makeOptionMandatory(mandatory),
    )
    .addOption(
      flag('--xds-ca <FILE>', 'file with the CA certificates of the operator, read again for each connection').default(
        '/var/run/configmaps/modelgateway.dev/xds/ca.crt',
      ),
    )
    .addOption(
      flag(
        '--token-file <FILE>',
        'file with the ServiceAccount token for the operator (audience model-gateway-xds), read again for each ' +
          'connection',
      ).default('/var/run/secrets/modelgateway.dev/xds/token'),
    )
    .addOption(flag('--insecure-xds', 'connect without TLS and without a token; only to loopback addresses'));
}

/** The trust settings of an xDS client. */
export function securityOf({
  insecureXds,
  xdsCa,
  tokenFile,
}: XdsFlags): { readonly caFile: string; readonly tokenFile: string } | undefined {
  return insecureXds ? undefined : { caFile: xdsCa, tokenFile };
}

/** Rejects with CommandFailed if --insecure-xds is used with a remote address, or if a file is missing. */
export async function checkXdsFlags({ xds, xdsCa, tokenFile, insecureXds }: XdsFlags): Promise<void> {
  const remote = xds.find((address) => !isLoopback(address));
  if (insecureXds && remote !== undefined) {
    throw new CommandFailed(
      "--insecure-xds: the configuration contains providers' credentials, so it is fetched without TLS only " +
        `from a loopback address, and ${remote} is not one.`,
      EXIT.usage,
    );
  }
  if (insecureXds) return;
  for (const [name, path] of [
    ['--xds-ca', xdsCa],
    ['--token-file', tokenFile],
  ] as const) {
    await access(path, constants.R_OK).catch(() => {
      throw new CommandFailed(
        `${name} ${path}: no such file, or permission denied. In a pod it is mounted; on one machine, ` +
          '--insecure-xds connects to a loopback address without it.',
      );
    });
  }
}
