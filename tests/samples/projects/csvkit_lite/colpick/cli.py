"""The command line."""

from __future__ import annotations

import argparse
import sys

from . import __version__
from .errors import ColpickError
from .look import look
from .ops import cut, grep, join, sort, stat_table
from .reader import ReadOptions, read_path
from .sniff import Dialect, named_character
from .table import Table
from .writer import WriteOptions, write_path


def _common() -> argparse.ArgumentParser:
    common = argparse.ArgumentParser(add_help=False)
    reading = common.add_argument_group("reading")
    reading.add_argument("-d", "--delimiter", help="a character, or comma, tab, ...")
    reading.add_argument("-q", "--quote", help="the quote character")
    reading.add_argument("-e", "--encoding", help="the encoding of the input")
    reading.add_argument("-H", "--no-header", action="store_true")
    reading.add_argument("--skip", type=int, default=0, help="lines before the header")
    reading.add_argument("--strict", action="store_true", help="long rows are errors")
    writing = common.add_argument_group("writing")
    writing.add_argument("-D", "--out-delimiter")
    writing.add_argument("-Q", "--out-quote")
    writing.add_argument("-E", "--out-encoding", default="utf-8")
    writing.add_argument("--quote-all", action="store_true")
    writing.add_argument("--bom", action="store_true", help="begin with a byte order mark")
    writing.add_argument("-o", "--output", default="-")
    return common


def build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="colpick")
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(dest="command", required=True)
    common = _common()

    def command(name: str, text: str) -> argparse.ArgumentParser:
        return commands.add_parser(name, help=text, parents=[common])

    sub = command("cut", "keep or drop columns")
    sub.add_argument("-c", "--columns")
    sub.add_argument("-x", "--drop")
    sub.add_argument("file", nargs="?", default="-")

    sub = command("grep", "keep rows that match")
    sub.add_argument("-c", "--columns")
    sub.add_argument("-i", "--ignore-case", action="store_true")
    sub.add_argument("-v", "--invert", action="store_true")
    sub.add_argument("pattern")
    sub.add_argument("file", nargs="?", default="-")

    sub = command("sort", "sort rows")
    sub.add_argument("-c", "--columns", required=True)
    sub.add_argument("-r", "--reverse", action="store_true")
    sub.add_argument("-t", "--text", action="store_true")
    sub.add_argument("file", nargs="?", default="-")

    sub = command("join", "join two files by a column")
    sub.add_argument("-c", "--column", required=True)
    sub.add_argument("--how", default="inner", choices=["inner", "left", "outer"])
    sub.add_argument("file")
    sub.add_argument("other")

    sub = command("stat", "numbers for each column")
    sub.add_argument("--csv", action="store_true")
    sub.add_argument("file", nargs="?", default="-")

    sub = command("look", "aligned columns")
    sub.add_argument("-w", "--max-width", type=int, default=30)
    sub.add_argument("-n", "--rows", type=int)
    sub.add_argument("file", nargs="?", default="-")

    sub = command("convert", "write it in another form")
    sub.add_argument("file", nargs="?", default="-")
    return parser


def read_options(options: argparse.Namespace) -> ReadOptions:
    return ReadOptions(
        encoding=options.encoding,
        delimiter=named_character(options.delimiter) if options.delimiter else None,
        quote=options.quote,
        header=not options.no_header,
        strict=options.strict,
        skip=options.skip,
    )


def write_options(options: argparse.Namespace, table: Table) -> WriteOptions:
    delimiter = table.dialect.delimiter
    if options.out_delimiter:
        delimiter = named_character(options.out_delimiter)
    return WriteOptions(
        dialect=Dialect(delimiter, options.out_quote or table.dialect.quote),
        encoding=options.out_encoding,
        quote_all=options.quote_all,
        header=not options.no_header,
        bom=options.bom,
    )


def run(options: argparse.Namespace) -> int:
    table = read_path(options.file, read_options(options))
    if options.command == "cut":
        result = cut(table, options.columns, options.drop)
    elif options.command == "grep":
        result = grep(table, options.pattern, options.columns, options.ignore_case, options.invert)
    elif options.command == "sort":
        result = sort(table, options.columns, options.reverse, options.text)
    elif options.command == "join":
        other = read_path(options.other, read_options(options))
        result = join(table, other, options.column, options.how)
    elif options.command == "stat":
        result = stat_table(table)
        if not options.csv:
            sys.stdout.write(look(result))
            return 0
    elif options.command == "look":
        sys.stdout.write(look(table, options.max_width, options.rows))
        return 0
    else:
        result = table
    write_path(result, options.output, write_options(options, table))
    return 0


def main(argv: list[str] | None = None) -> int:
    options = build_parser().parse_args(argv)
    try:
        return run(options)
    except (ColpickError, ValueError) as error:
        print(f"colpick: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"colpick: {error.filename}: {error.strerror}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        return 0


if __name__ == "__main__":
    raise SystemExit(main())
