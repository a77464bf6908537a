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
        'where operators are; may be repeated (in MGW_XDS: separated by commas). A ' +
          'name with several addresses is any of them',
      )
        .argParser(parseHostPorts)
        .makeOptionMandatory(mandatory),
    )
    .addOption(
      flag(
        '--xds-ca <FILE>',
        "the authorities that operators' certificates are checked with, read anew for each connection",
      ).default('/var/run/configmaps/modelgateway.dev/xds/ca.crt'),
    )
    .addOption(
      flag(
        '--token-file <FILE>',
        'the ServiceAccount token for operators (audience model-gateway-xds), read anew for each connection',
      ).default('/var/run/secrets/modelgateway.dev/xds/token'),
    )
    .addOption(flag('--insecure-xds', 'neither TLS nor a token, for one machine; only with loopback addresses'));
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
      "--insecure-xds: the configuration holds providers' credentials, so it is taken without TLS only from a " +
        `loopback address; ${remote} is none.`,
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
        `${name} ${path}: there is no such file, or this user may not read it. In a pod it is mounted; ` +
          'on one machine, --insecure-xds takes the configuration from a loopback address without it.',
      );
    });
  }
}
